"""Messages that are lost, doubled, late, or never sent."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import httpx2
import pytest

from tests.faults.deployment import NEVER, TENANT, Deployment, deployment
from tests.servers import DEFAULT_TIMEOUT_SECONDS, wait_until
from worker.engine.dispatch import BROKER_PREFIX, QUEUE


@pytest.mark.scenario(12, "all broker keys deleted")
def test_all_broker_keys_deleted_is_no_loss(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.3)
        for n in (1, 4):
            deployed.wait_for_execution(fit, n)
            deployed.fault()
            for key in deployed.server.client.scan_iter(f"{BROKER_PREFIX}*"):
                deployed.server.client.delete(key)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.scenario(14, "API killed between storing and sending")
def test_an_api_that_dies_before_it_sends_leaves_one_fit_that_ends(tmp_path: Path) -> None:
    """The client, which got no answer, asks another API under the same key."""
    with deployment(tmp_path) as deployed, deployed.worker():
        with (
            deployed.api(environment=deployed.mishap("SIGKILL before send")) as dying,
            dying.client() as client,
            pytest.raises(httpx2.TransportError),
        ):
            deployed.post(client, key="once", n_starts=2)
        assert dying.process.wait(DEFAULT_TIMEOUT_SECONDS) == -signal.SIGKILL
        with deployed.api() as api, api.client() as client:
            answer = deployed.post(client, key="once", n_starts=2)
            assert answer.status_code in (200, 202)  # by now it may have ended, although nothing was sent
            (fit,) = deployed.store.fits.page(TENANT).data
            assert answer.json()["id"] == fit.id
            deployed.wait_for_end(fit)
            deployed.assert_whole(fit)
            assert deployed.post(client, key="once", n_starts=2).json()["id"] == fit.id
        assert len(deployed.store.fits.page(TENANT).data) == 1


@pytest.mark.faults
@pytest.mark.scenario(4, "worker killed between taking a message and noting it")
def test_a_message_taken_and_lost_is_sent_again(tmp_path: Path) -> None:
    """Of such a message there is no trace at the broker. The others are deleted, so that none of them wakes anybody."""
    with deployment(tmp_path) as deployed:
        with deployed.worker(module="tests.faults.mishap", environment=deployed.mishap("SIGKILL before note")) as dying:
            fit = deployed.submit(n_starts=2)
            assert dying.process.wait(DEFAULT_TIMEOUT_SECONDS) == -signal.SIGKILL
            assert n_messages(deployed) == 2  # of three: two that the worker sent when it began, and the submission's
            assert deployed.server.client.keys(f"{BROKER_PREFIX}unacked*") == []
            deployed.server.client.delete(BROKER_PREFIX + QUEUE)
        with deployed.worker():
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)


@pytest.mark.faults
def test_doubled_messages_cause_no_second_execution(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.1)
        deployed.dispatcher.send(50)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
@pytest.mark.scenario(20, "backlog longer than many sweeps")
def test_a_backlog_causes_no_second_execution(tmp_path: Path) -> None:
    """Nor does the queue grow with every sweep: twenty pass while all processes are busy."""
    with deployment(tmp_path, sweep_seconds=0.2) as deployed, deployed.worker():
        long = deployed.submit(n_starts=2, seconds=4)
        deployed.wait_for_execution(long, 2)
        n_before = n_messages(deployed)
        fits = [deployed.submit(n_starts=2, seconds=0.1, seed=seed) for seed in range(20)]
        deployed.wait_for_execution(long, 3)
        assert n_messages(deployed) <= n_before + 20  # one that each submission has sent
        for fit in (long, *fits):
            deployed.wait_for_end(fit)
            deployed.assert_whole(fit)
            assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
@pytest.mark.scenario(15, "two reconcilers")
def test_two_reconcilers_send_as_many_messages_as_one(tmp_path: Path) -> None:
    """And none while no worker is there to take them."""
    with deployment(tmp_path) as deployed:
        fits = [deployed.store_only(n_starts=2, seed=seed) for seed in range(10)]
        with deployed.api(renew_seconds=NEVER), deployed.api(renew_seconds=NEVER):
            wait_for_sweeps(deployed, 3)
            assert n_messages(deployed) == 0
            began = time.monotonic()
            deployed.store.workers.beat("a worker that takes none", 2)
            wait_for_sweeps(deployed, 4)
            n_sent = n_messages(deployed)
            most_sweeps = 1 + (time.monotonic() - began) / (0.9 * deployed.settings["sweep_seconds"])
            assert n_sent <= 2 * most_sweeps
            wait_until(lambda: n_messages(deployed) >= 2 * 3)  # sent after the sweep that has counted them
            deployed.store.workers.leave("a worker that takes none")
        with deployed.worker():
            for fit in fits:
                deployed.wait_for_end(fit)
                deployed.assert_whole(fit)


@pytest.mark.faults
@pytest.mark.scenario(15, "a reconciler killed before it sends what it has put up")
def test_a_reconciler_that_is_killed_is_followed_by_another(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker(sweep_seconds=NEVER):
        with deployed.api(environment=deployed.mishap("SIGKILL after sweep", every=5)) as dying:
            assert dying.process.wait(DEFAULT_TIMEOUT_SECONDS) == -signal.SIGKILL
        fits = [deployed.store_only(n_starts=2, seed=seed) for seed in range(10)]  # of which no worker is told
        assert deployed.executions() == []
        with deployed.api():
            for fit in fits:
                deployed.wait_for_end(fit)
                deployed.assert_whole(fit)


def n_messages(deployed: Deployment) -> int:
    """How many messages wait."""
    return int(deployed.server.client.llen(BROKER_PREFIX + QUEUE))


def wait_for_sweeps(deployed: Deployment, n: int) -> None:
    """Until somebody has had the turn to sweep so many times: each sets the time anew for which it has it."""
    left = 0
    while n > 0:
        now = int(deployed.server.client.pttl("melm:sweeping"))
        n -= now > left
        left = now


@pytest.mark.faults
def test_a_large_fit_does_not_starve_a_small_one(tmp_path: Path) -> None:
    """Two processes, both busy with 40 starts when 4 more are asked for. By counts: no clock decides."""
    with deployment(tmp_path, lease_seconds=NEVER, window=4) as deployed, deployed.worker():
        large = deployed.submit(n_starts=40, seconds=0.1, turn=0)
        deployed.wait_for_execution(large, 4)
        small = deployed.submit(n_starts=4, seconds=0.1, seed=1)
        deployed.wait_for_end(small)
        n_large = len(deployed.executions(large))
        assert n_large < 4 + 30
        deployed.wait_for_end(large)
        deployed.assert_whole(small)
        deployed.assert_whole(large)


@pytest.mark.faults
def test_many_fits_at_once_all_end_once(tmp_path: Path) -> None:
    with deployment(tmp_path, lease_seconds=NEVER) as deployed, deployed.worker():
        fits = [deployed.submit(n_starts=2, seed=seed) for seed in range(80)]
        for fit in fits:
            deployed.wait_for_end(fit)
        assert all(set(deployed.times_run(fit).values()) == {1} for fit in fits[::20])
        for fit in fits[::20]:
            deployed.assert_whole(fit)
        assert deployed.store.workers.metrics()["fits_total:succeeded"] == 80
        assert len(list(deployed.trace.iterdir())) == 80 * 4
