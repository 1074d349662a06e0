"""Backup and restore, as the operations page tells: a fit in the middle goes on, and models are served as before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm import methods
from melm.methods.melm import MelmParameters
from melm.model import Model
from melm.model import file as model_file
from tests.faults.deployment import TENANT, Deployment, deployment
from tests.servers import RedisServer, redis_server, wait_until
from worker.store.records import DatasetRecord, FitRecord, FitSubmission, Status

FEW, MANY = (MelmParameters(n_starts=n_starts, regularization=None) for n_starts in (2, 40))


def many_rows() -> tuple[Any, Any]:
    """So many that 40 starts take some seconds."""
    random = np.random.default_rng(0)
    X = random.standard_normal((1500, 10))
    return X, (X[:, 0] + random.standard_normal(1500) > 0).astype(int)


def copy_append_only_folder(server: RedisServer, backup: Path) -> None:
    """While the server runs, and takes writes."""
    server.client.config_set("auto-aof-rewrite-percentage", 0)
    wait_until(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0)
    shutil.copytree(server.folder / "appendonlydir", backup / "appendonlydir")


def copy_snapshot(server: RedisServer, backup: Path) -> None:
    """While the server runs, and takes writes."""
    server.client.bgsave()
    wait_until(lambda: server.client.info("persistence")["rdb_bgsave_in_progress"] == 0)
    backup.mkdir(parents=True)
    shutil.copy(server.folder / "dump.rdb", backup)


def restore_append_only_folder(backup: Path, folder: Path) -> None:
    shutil.copytree(backup, folder)


def restore_snapshot(backup: Path, folder: Path) -> None:
    """A server that has its append-only file switched on would not read the snapshot."""
    shutil.copytree(backup, folder)
    with redis_server(folder, "--appendonly", "no") as server:
        server.client.config_set("appendonly", "yes")
        wait_until(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0)


@pytest.mark.faults
@pytest.mark.scenario(0, "restored from a copy of the {how}")
@pytest.mark.parametrize(
    ("how", "back_up", "restore"),
    [
        ("append-only folder", copy_append_only_folder, restore_append_only_folder),
        ("snapshot", copy_snapshot, restore_snapshot),
    ],
)
def test_a_restored_server_goes_on(
    tmp_path: Path, how: str, back_up: Callable[[RedisServer, Path], None], restore: Callable[[Path, Path], None]
) -> None:
    X, y = many_rows()
    with deployment(tmp_path / "first") as deployed, deployed.worker(module="worker", worker_processes=1):
        dataset, _ = deployed.store.datasets.create(TENANT, X, y)
        done = deployed.wait_for_end(submitted(deployed, dataset, FEW))
        under_way = submitted(deployed, dataset, MANY)
        wait_until(lambda: deployed.get(under_way).starts_done > 1)
        back_up(deployed.server, tmp_path / "backup")
        assert deployed.get(under_way).is_active
    restore(tmp_path / "backup", tmp_path / "second" / "redis")
    with deployment(tmp_path / "second") as restored, restored.worker(module="worker"):
        with restored.api() as api, api.client() as client:
            answer = client.post(f"/v1/models/{done.model_id}/transform", json={"X": X[:5].tolist()})
            assert answer.json()["Z"] == fault_free(FEW).transform(X[:5]).tolist()
        restored.fits += [done, under_way]
        ended = restored.wait_for_end(under_way)
        assert ended.status is Status.SUCCEEDED, ended.error
        model = model_file.load(restored.store.models.file(TENANT, ended.model_id or ""))
        assert model.projection.tobytes() == fault_free(MANY).projection.tobytes()


def submitted(deployed: Deployment, dataset: DatasetRecord, params: MelmParameters) -> FitRecord:
    """A fit by MELM, stored and sent."""
    asked = FitSubmission(
        dataset_id=dataset.id, dataset_hash=dataset.content_hash, method="melm", params=params.model_dump(mode="json")
    )
    record, _ = deployed.store.fits.submit(TENANT, asked)
    deployed.dispatcher.send()
    return record


def fault_free(params: MelmParameters) -> Model:
    """The model of such a fit in one process."""
    return methods.fit("melm", *many_rows(), validation=None, **params.model_dump())
