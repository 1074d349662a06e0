"""The server that dies, freezes, drops connections, fills up, or comes back with a damaged file."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.faults.deployment import NEVER, TENANT, Deployment, deployment
from tests.servers import wait_until
from tests.worker.samples import submission, two_blobs
from worker.contract.errors import NotFound, StoreFull, StoreUnavailable
from worker.contract.records import Status


@pytest.mark.parametrize(
    "away_seconds", [0.5, pytest.param(5, marks=pytest.mark.faults), pytest.param(30, marks=pytest.mark.faults)]
)
def test_a_killed_server_costs_time_only(tmp_path: Path, away_seconds: float) -> None:
    with deployment(tmp_path, store_timeout_seconds=1.0) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.5)
        deployed.wait_for_execution(fit, 3)
        deployed.fault()
        deployed.server.kill()
        with pytest.raises(StoreUnavailable):
            deployed.submit()
        time.sleep(away_seconds)
        deployed.server.start()
        another = wait_until(lambda: submitted(deployed))
        deployed.wait_for_end(fit, 60)
        deployed.wait_for_end(another, 60)
        deployed.assert_whole(fit)
        deployed.assert_whole(another)
        assert set(deployed.times_run(fit).values()) == {1}  # neither what was done nor what was under way


def submitted(deployed: Deployment):  # type: ignore[no-untyped-def]
    try:
        return deployed.submit(n_starts=2, seed=1)
    except StoreUnavailable:
        return None


@pytest.mark.faults
def test_a_frozen_server_costs_time_only(tmp_path: Path) -> None:
    with deployment(tmp_path, store_timeout_seconds=1.0) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.5)
        deployed.wait_for_execution(fit, 3)
        assert deployed.server.process is not None
        deployed.fault()
        deployed.server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            deployed.submit()
        assert time.monotonic() - began < 3
        time.sleep(15)
        deployed.server.process.send_signal(signal.SIGCONT)
        deployed.wait_for_end(fit, 60)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


def test_dropped_connections_cause_no_second_execution(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.3)
        for n in (1, 3, 5):
            deployed.wait_for_execution(fit, n)
            deployed.fault()
            for kind in ("normal", "pubsub"):
                deployed.server.client.client_kill_filter(_type=kind, skipme=True)
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}


@pytest.mark.faults
def test_every_acknowledged_fit_survives_a_hundred_kills(tmp_path: Path) -> None:
    with deployment(tmp_path, store_timeout_seconds=0.5, max_active_fits=100_000, max_queued_fits=100_000) as deployed:
        acknowledged: list[str] = []
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                try:
                    fit, _ = deployed.store.fits.submit(TENANT, submission(deployed.dataset, seed=len(acknowledged)))
                except StoreUnavailable:
                    continue
                acknowledged.append(fit.id)

        writers = [threading.Thread(target=write) for _ in range(2)]
        for writer in writers:
            writer.start()
        for _ in range(100):
            enough = len(acknowledged) + 5
            wait_until(lambda enough=enough: len(acknowledged) > enough)  # type: ignore[misc]
            deployed.server.kill()
            deployed.server.start()
        stop.set()
        for writer in writers:
            writer.join()
        assert len(acknowledged) > 500
        stored = {deployed.store.fits.get(TENANT, fit_id).status for fit_id in acknowledged}
        assert stored == {Status.QUEUED}


def test_a_full_server_takes_nothing_new_and_running_fits_end(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=6, seconds=0.4)
        deployed.wait_for_execution(fit, 2)
        used = deployed.server.client.info("memory")["used_memory"]
        deployed.server.client.config_set("maxmemory", used)
        time.sleep(1.1)  # the answer to "is it full?" is kept for a second
        with pytest.raises(StoreFull):
            deployed.submit()
        with pytest.raises(StoreFull):
            deployed.store.datasets.create(TENANT, *two_blobs(seed=1))
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert deployed.store.datasets.load(TENANT, deployed.dataset.id)
        deployed.server.client.config_set("maxmemory", 0)
        time.sleep(1.1)
        another = deployed.submit(n_starts=2, seed=1)
        deployed.wait_for_end(another)  # by the same worker
        deployed.assert_whole(another)


@pytest.mark.faults
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


def test_backup_and_restore(tmp_path: Path) -> None:
    """A copy of the append-only folder is a whole backup; the broker's messages are not needed."""
    with deployment(tmp_path / "first") as deployed:
        fit = deployed.store_only(n_starts=2)
        copy = {path.name: path.read_bytes() for path in (deployed.server.folder / "appendonlydir").iterdir()}
    folder = tmp_path / "second" / "redis" / "appendonlydir"
    folder.mkdir(parents=True)
    for name, content in copy.items():
        (folder / name).write_bytes(content)
    with deployment(tmp_path / "second") as restored, restored.worker():
        restored.wait_for_end(fit)
        restored.assert_whole(fit)


@pytest.mark.faults
def test_a_worker_waits_for_a_server_that_is_late(tmp_path: Path) -> None:
    with deployment(tmp_path, grace_seconds=NEVER) as deployed, deployed.worker():
        deployed.server.kill()
        time.sleep(3)
        deployed.server.start()
        fit = wait_until(lambda: submitted(deployed))
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
