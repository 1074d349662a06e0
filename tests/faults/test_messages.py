"""Messages that are lost, doubled, late, or never sent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.deployment import NEVER, TENANT, deployment
from tests.servers import wait_until
from tests.worker.samples import submission
from worker.contract.dispatch import BROKER_PREFIX, QUEUE, CeleryDispatcher
from worker.contract.reconcile import Reconciler
from worker.contract.records import Idempotency, Outcome


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


def test_an_api_that_dies_before_it_sends_leaves_one_fit_that_ends(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        key = Idempotency(key="k", body_hash="h")
        asked = submission(deployed.dataset, n_starts=2)
        stored, _ = deployed.store.fits.submit(TENANT, asked, idempotency=key)  # and then it dies
        again, outcome = deployed.store.fits.submit(TENANT, asked, idempotency=key)
        assert (again.id, outcome) == (stored.id, Outcome.REPLAYED)
        deployed.wait_for_end(stored)  # although nothing was ever sent
        deployed.assert_whole(stored)
        assert [fit.id for fit in deployed.store.fits.page(TENANT).data] == [stored.id]


def test_a_message_taken_and_lost_is_sent_again(tmp_path: Path) -> None:
    """A worker that dies between taking a message off the list and noting it leaves no trace of the message."""
    with deployment(tmp_path) as deployed:
        fit = deployed.submit(n_starts=2)
        deployed.fault()
        assert deployed.server.client.lpop(BROKER_PREFIX + QUEUE) is not None
        with deployed.worker():
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)


def test_doubled_messages_cause_no_second_execution(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.1)
        deployed.dispatcher.send(TENANT, fit.id, 50)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
def test_a_backlog_longer_than_the_grace_causes_no_second_execution(tmp_path: Path) -> None:
    with deployment(tmp_path, grace_seconds=0.3) as deployed, deployed.worker(worker_processes=1):
        fits = [deployed.submit(n_starts=2, seconds=0.1, seed=seed) for seed in range(20)]
        for fit in fits:
            deployed.wait_for_end(fit, 60)
            deployed.assert_whole(fit)
            assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
def test_two_reconcilers_send_at_most_twice_the_messages(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        for seed in range(10):
            deployed.store_only(n_starts=2, seed=seed)
        settings = deployed.store.settings
        reconcilers = [Reconciler(deployed.store, CeleryDispatcher(settings)) for _ in range(2)]
        for reconciler in reconcilers:
            reconciler.start()
        wait_until(lambda: deployed.server.client.llen(BROKER_PREFIX + QUEUE) >= 10)
        time.sleep(settings.sweep_seconds * 2)
        for reconciler in reconcilers:
            reconciler.stop()
        assert deployed.server.client.llen(BROKER_PREFIX + QUEUE) <= 20


def test_a_large_fit_does_not_starve_a_small_one(tmp_path: Path) -> None:
    """Two processes, both busy with 40 starts when 4 more are asked for. By counts: no clock decides."""
    with deployment(tmp_path, lease_seconds=NEVER, grace_seconds=NEVER, window=4) as deployed, deployed.worker():
        large = deployed.submit(n_starts=40, seconds=0.1, turn=0)
        deployed.wait_for_execution(large, 4)
        small = deployed.submit(n_starts=4, seconds=0.1, seed=1)
        deployed.wait_for_end(small)
        n_large = len(deployed.executions(large))
        assert n_large < 4 + 30
        deployed.wait_for_end(large)
        deployed.assert_whole(small)
        deployed.assert_whole(large)


def test_many_fits_at_once_all_end_once(tmp_path: Path) -> None:
    with deployment(tmp_path, lease_seconds=NEVER) as deployed, deployed.worker():
        fits = [deployed.submit(n_starts=2, seed=seed) for seed in range(80)]
        for fit in fits:
            deployed.wait_for_end(fit, 60)
        assert all(set(deployed.times_run(fit).values()) == {1} for fit in fits[::20])
        for fit in fits[::20]:
            deployed.assert_whole(fit)
        assert deployed.store.workers.metrics()["fits_total:succeeded"] == 80
        assert len(list(deployed.trace.iterdir())) == 80 * 4
