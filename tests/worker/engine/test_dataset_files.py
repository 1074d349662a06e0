"""Large datasets are read from the server once and shared; whatever befalls the files, the values are right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.servers import RedisServer, wait_until, worker_process
from tests.worker.samples import submission, two_blobs
from worker.engine import Engine, open_engine
from worker.engine.dataset_files import DatasetFiles
from worker.engine.dispatch import CeleryDispatcher
from worker.store.errors import Damaged
from worker.store.records import DatasetRecord
from worker.store.settings import Settings
from worker.store.table_part import TablePart

N_ROWS, N_FEATURES = 20_000, 50  # 8 megabytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "datasets"


@pytest.fixture
def sharing(settings: Settings, folder: Path) -> Iterator[Engine]:
    store = open_engine(replace(settings, dataset_cache_folder=str(folder)))
    yield store
    store.close()


def stored(store: Engine, tenant: str, seed: int = 0) -> DatasetRecord:
    return store.datasets.create(tenant, *two_blobs(N_ROWS, N_FEATURES, seed))[0]


def bytes_sent(server: RedisServer) -> int:
    return int(server.client.info("stats")["total_net_output_bytes"])


def values_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.suffix)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_table_comes_back_from_a_file_as_it_was(sharing: Engine, tenant: str, dtype: type, folder: Path) -> None:
    X, y = two_blobs(N_ROWS, N_FEATURES)
    X = X.astype(dtype)
    codes = (np.arange(2 * N_ROWS, dtype=np.int32) % 3 - 1).reshape(-1, 2)
    part = TablePart(("a", "b"), codes, (("u", "v"), ("w", "x")), ids=np.arange(N_ROWS))
    names = [*(f"x{j}" for j in range(N_FEATURES)), "a", "b"]
    record, _ = sharing.datasets.create(tenant, X, y, feature_names=names, part=part)
    for _ in range(2):  # as it was read, and as it was mapped
        values = DatasetFiles(sharing).load(tenant, record)
        assert values.X.dtype == dtype
        assert np.array_equal(values.X, X)
        assert values.y.tolist() == y.tolist()
        assert values.part is not None
        assert np.array_equal(values.part.codes, codes)
        assert not values.X.flags.writeable
    assert len(values_in(folder)) == 1


def test_two_processes_of_a_worker_read_once_and_map_one_file(server: RedisServer, tmp_path: Path) -> None:
    store = open_engine(Settings(redis_url=server.url))
    record = stored(store, "default")
    before = bytes_sent(server)
    folder = tmp_path / "datasets"
    with worker_process(
        server.url,
        tmp_path / "worker.log",
        module="tests.worker.stand_in",
        worker_processes=2,
        dataset_cache_folder=folder,
    ) as worker:
        fit, _ = store.fits.submit("default", submission(record, n_starts=20, seconds=0.1))
        CeleryDispatcher(store.settings).send(2)

        def mapped() -> list[str]:
            lines = [
                line for child in worker.children() for line in Path(f"/proc/{child}/maps").read_text().split("\n")
            ]
            return [line.split()[4] for line in lines if str(folder) in line]

        inodes = wait_until(lambda: found if len(found := mapped()) == 2 else None)
        assert inodes is not None
        assert len(set(inodes)) == 1
        wait_until(lambda: not store.fits.get("default", fit.id).is_active)
        assert store.fits.get("default", fit.id).model_id is not None
        n_bytes = N_ROWS * N_FEATURES * 8
        assert n_bytes <= bytes_sent(server) - before < 1.5 * n_bytes
        assert len(values_in(folder)) == 1
        worker.terminate()
    assert list(folder.iterdir()) == []
    store.close()


@pytest.mark.parametrize("damage", ["flipped", "truncated", "emptied"])
def test_a_damaged_file_is_read_again(sharing: Engine, tenant: str, folder: Path, damage: str) -> None:
    record = stored(sharing, tenant)
    DatasetFiles(sharing).load(tenant, record)
    (path,) = values_in(folder)
    data = path.read_bytes()
    path.write_bytes({"flipped": bytes([data[0] ^ 1]) + data[1:], "truncated": data[:-5], "emptied": b""}[damage])
    assert np.array_equal(DatasetFiles(sharing).load(tenant, record).X, two_blobs(N_ROWS, N_FEATURES)[0])
    assert path.read_bytes() == data


def test_what_is_damaged_in_the_store_is_told_and_leaves_no_file(sharing: Engine, tenant: str, folder: Path) -> None:
    record = stored(sharing, tenant)
    sharing.connection.call("HDEL", f"melm:{{{tenant}}}:dataset:{record.id}:blocks", "0")
    with pytest.raises(Damaged):
        DatasetFiles(sharing).load(tenant, record)
    assert values_in(folder) == []
    assert list(folder.glob("*.part")) == []


def test_one_reads_while_the_others_wait_and_a_dead_holder_frees_the_lock(
    sharing: Engine, tenant: str, folder: Path, server: RedisServer
) -> None:
    record = stored(sharing, tenant)
    folder.mkdir(mode=0o700)
    lock = folder / f"{record.content_hash.removeprefix('sha256:')}.lock"
    program = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'wb'); fcntl.flock(f, fcntl.LOCK_EX); print(); time.sleep(99)"
    )
    with subprocess.Popen([sys.executable, "-uc", program, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        loaded: list[object] = []
        waiting = threading.Thread(target=lambda: loaded.append(DatasetFiles(sharing).load(tenant, record)))
        before = bytes_sent(server)
        waiting.start()
        wait_until(lambda: f" {os.getpid()} " in waiters())
        assert not loaded
        assert bytes_sent(server) - before < 100_000
        holder.send_signal(signal.SIGKILL)
    waiting.join()
    assert len(loaded) == 1


def waiters() -> str:
    """The processes that wait for a lock of a file."""
    return "".join(line for line in Path("/proc/locks").read_text().splitlines() if "->" in line)


def test_the_least_recently_used_file_is_given_up(settings: Settings, tenant: str, folder: Path) -> None:
    limit = int(2.5 * N_ROWS * N_FEATURES * 8)
    store = open_engine(replace(settings, dataset_cache_folder=str(folder), dataset_cache_bytes=limit))
    records = [stored(store, tenant, seed) for seed in range(3)]
    files = DatasetFiles(store)
    for index, record in enumerate(records[:2]):
        files.load(tenant, record)
        path = folder / record.content_hash.removeprefix("sha256:")
        os.utime(path, (path.stat().st_mtime - 100 + index,) * 2)
    files.load(tenant, records[0])  # now the second is the one that was not used for longest
    files.load(tenant, records[2])
    kept = {path.name for path in values_in(folder)}
    assert kept == {records[index].content_hash.removeprefix("sha256:") for index in (0, 2)}
    store.close()


@pytest.mark.parametrize("trouble", ["no room", "somebody else's folder", "no folder"])
def test_without_files_the_values_are_in_memory(
    sharing: Engine, tenant: str, folder: Path, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trouble == "no room":

        def refuse(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", refuse)
    elif trouble == "somebody else's folder":
        folder.mkdir(mode=0o755)
    else:
        folder.write_bytes(b"")
    record = stored(sharing, tenant)
    values = DatasetFiles(sharing).load(tenant, record)
    assert np.array_equal(values.X, two_blobs(N_ROWS, N_FEATURES)[0])
    assert trouble == "no folder" or values_in(folder) == []


def test_small_ones_are_not_shared(sharing: Engine, tenant: str, folder: Path) -> None:
    record, _ = sharing.datasets.create(tenant, *two_blobs())
    DatasetFiles(sharing).load(tenant, record)
    assert not folder.exists()
