"""The server that dies, freezes, drops connections, fills up, or comes back with a damaged file."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
import redis

from tests.faults.deployment import NEVER, TENANT, Deployment, deployment
from tests.servers import wait_until
from tests.worker.samples import submission, two_blobs
from worker.engine import open_engine
from worker.store.errors import NotFound, StoreFull, StoreUnavailable
from worker.store.records import Status
from worker.store.settings import Settings


@pytest.mark.scenario(7, "server killed for {away_seconds:g} s")
@pytest.mark.parametrize(
    "away_seconds", [0.5, pytest.param(5, marks=pytest.mark.faults), pytest.param(30, marks=pytest.mark.faults)]
)
def test_a_killed_server_costs_time_only(tmp_path: Path, away_seconds: float) -> None:
    with (
        deployment(tmp_path, store_timeout_seconds=1.0) as deployed,
        deployed.worker(),
        deployed.api() as api,
        api.client() as client,
    ):
        fit = deployed.submit(n_starts=6, seconds=0.5)
        deployed.wait_for_execution(fit, 3)
        deployed.server.kill()
        refused = deployed.post(client)
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (503, True)
        time.sleep(away_seconds)
        deployed.server.start()
        deployed.fault()
        wait_for_answer(deployed, client, 202)
        for each in deployed.fits:
            deployed.wait_for_end(each, 60)
            deployed.assert_whole(each)
        assert set(deployed.times_run(fit).values()) == {1}  # neither what was done nor what was under way


def wait_for_answer(deployed: Deployment, client: httpx2.Client, status: int) -> httpx2.Response:
    """Ask the API for fits until it answers with this status."""
    answers: list[httpx2.Response] = []

    def is_answered() -> bool:
        answers.append(deployed.post(client, n_starts=2, seed=1))
        assert answers[-1].status_code in (202, 503)
        return answers[-1].status_code == status

    wait_until(is_answered)
    return answers[-1]


@pytest.mark.faults
@pytest.mark.scenario(11, "server frozen for 15 s")
def test_a_frozen_server_costs_time_only(tmp_path: Path) -> None:
    with deployment(tmp_path, store_timeout_seconds=1.0) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.5)
        deployed.wait_for_execution(fit, 3)
        assert deployed.server.process is not None
        deployed.server.process.send_signal(signal.SIGSTOP)
        thaw = threading.Timer(15, deployed.server.process.send_signal, [signal.SIGCONT])
        thaw.start()
        settings = Settings(redis_url=deployed.server.url, **deployed.settings)
        with closing(open_engine(settings)) as impatient, pytest.raises(StoreUnavailable):
            impatient.fits.submit(TENANT, submission(deployed.dataset))
        thaw.join()
        deployed.fault()
        deployed.wait_for_end(fit, 60)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.scenario(9, "all client connections dropped")
def test_dropped_connections_cause_no_second_execution(tmp_path: Path) -> None:
    """One process is always free: the worker waits for a message when its connection is dropped."""
    with deployment(tmp_path, window=2) as deployed, deployed.worker(worker_processes=3):
        fit = deployed.submit(n_starts=6, seconds=0.3)
        for n in (1, 3, 5):
            deployed.wait_for_execution(fit, n)
            deployed.fault()
            drop_connections(deployed.server.client)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


def drop_connections(client: redis.Redis) -> None:
    """Of everybody, and in the middle: the server holds back what would write until some scripts are under way."""
    client.client_pause(10_000, all=False)
    wait_until(lambda: sum(each["cmd"] == "evalsha" and "b" in each["flags"] for each in client.client_list()) >= 3)
    for kind in ("normal", "pubsub"):
        client.client_kill_filter(_type=kind, skipme=True)
    client.client_unpause()


@pytest.mark.scenario(9, "answers to {moment} lost")
@pytest.mark.parametrize(
    ("moment", "times"),
    [("claim", 3), ("complete", 10), ("open_stage", 2), ("publish", 1)],
    ids=lambda value: str(value),
)
def test_an_answer_that_is_lost_is_asked_for_again(tmp_path: Path, moment: str, times: int) -> None:
    """The script has run; only its answer does not arrive. No lease ends in this test: nothing else could help."""
    with deployment(tmp_path, lease_seconds=NEVER, turn_seconds=0) as deployed:
        environment = deployed.mishap(f"LOSE after {moment}", times=times)
        with deployed.worker(module="tests.faults.mishap", environment=environment):
            fit = deployed.submit(n_starts=12)
            deployed.wait_for_end(fit)
            deployed.wait_for_mishap(times)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
@pytest.mark.once
@pytest.mark.scenario(8, "server killed a hundred times under writes")
def test_every_acknowledged_fit_survives_a_hundred_kills(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"max_active_fits": 100_000, "max_queued_fits": 100_000}
    with (
        deployment(tmp_path, store_timeout_seconds=0.5, **limits) as deployed,
        deployed.api(requests_per_second=0) as api,
    ):
        stop = threading.Event()
        acknowledged: list[str] = []

        def write() -> None:
            body = {"dataset_id": deployed.dataset.id, "method": "stand_in", "params": {"n_starts": 1}}
            with api.client() as client:
                while not stop.is_set():
                    answer = client.post("/v1/fits", json={**body, "validation": None, "force": True})
                    assert answer.status_code in (202, 503)
                    if answer.status_code == 202:
                        acknowledged.append(answer.json()["id"])

        with ThreadPoolExecutor() as pool:
            writers = [pool.submit(write) for _ in range(2)]
            try:
                for _ in range(100):
                    enough = len(acknowledged) + 5
                    wait_until(lambda enough=enough: len(acknowledged) > enough)  # type: ignore[misc]
                    deployed.server.kill()
                    n_before = len(acknowledged)
                    deployed.server.start()
                    back_at = time.monotonic()
                    wait_until(lambda n_before=n_before: len(acknowledged) > n_before)  # type: ignore[misc]
                    deployed.recovery_seconds.append(time.monotonic() - back_at)
            finally:
                stop.set()
            for writer in writers:
                writer.result()
        assert len(acknowledged) > 500
        deployed.fits += [deployed.store.fits.get(TENANT, fit_id) for fit_id in acknowledged]
        with deployed.worker():
            for fit in deployed.fits:
                deployed.wait_for_end(fit, 300)
        deployed.assert_whole(*deployed.fits)


@pytest.mark.scenario(13, "server at maxmemory")
def test_a_full_server_takes_nothing_new_and_running_fits_end(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker(), deployed.api() as api, api.client() as client:
        fit = deployed.submit(n_starts=6, seconds=0.4)
        deployed.wait_for_execution(fit, 2)
        used = deployed.server.client.info("memory")["used_memory"]
        deployed.server.client.config_set("maxmemory", used // 2)  # so that nothing that is freed makes room
        wait_until(deployed.store.is_full)
        refused = wait_for_answer(deployed, client, 503)  # what the API knows is a second old at most
        assert int(refused.headers["retry-after"]) > 0
        with pytest.raises(StoreFull):
            deployed.store.datasets.create(TENANT, *two_blobs(seed=1))
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert client.get(f"/v1/fits/{fit.id}").json()["status"] == "succeeded"
        assert client.get(f"/v1/datasets/{deployed.dataset.id}").status_code == 200
        deployed.server.client.config_set("maxmemory", 0)
        deployed.fault()
        wait_for_answer(deployed, client, 202)
        for each in deployed.fits:
            deployed.wait_for_end(each)  # by the same worker
            deployed.assert_whole(each)


@pytest.mark.faults
@pytest.mark.scenario(23, "append-only file truncated")
def test_a_truncated_file_loses_only_what_was_cut(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        fits = [deployed.store_only(n_starts=2, seed=seed) for seed in range(3)]
        deployed.server.kill()
        (log,) = (deployed.server.folder / "appendonlydir").glob("*.incr.aof")
        log.write_bytes(log.read_bytes()[:-7])
        deployed.server.start()
        assert [deployed.get(fit).status for fit in fits[:2]] == [Status.QUEUED] * 2
        with pytest.raises(NotFound):
            deployed.get(deployed.fits.pop())
        with deployed.worker():
            for fit in fits[:2]:
                deployed.wait_for_end(fit)
                deployed.assert_whole(fit)


@pytest.mark.faults
def test_a_worker_waits_for_a_server_that_is_late(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        deployed.server.kill()
        time.sleep(3)
        deployed.server.start()
        fit = deployed.submit(n_starts=2)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)


@pytest.mark.faults
def test_a_worker_that_waits_for_the_server_does_not_spin(tmp_path: Path) -> None:
    """Measured by the time that its parent spends on a processor, all its processes being busy."""
    with deployment(tmp_path) as deployed, deployed.worker() as worker:
        fit = deployed.submit(n_starts=2, seconds=8)
        deployed.wait_for_execution(fit, 2)
        deployed.server.kill()
        before = processor_seconds(worker.pid)
        time.sleep(5)
        assert processor_seconds(worker.pid) - before < 0.5
        deployed.server.start()
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)


def processor_seconds(pid: int) -> float:
    """How long a process has run on any processor."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
