"""One service for all tests of this folder: a real server, a real worker, a real API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest

from tests.servers import RedisServer, redis_server, worker_process
from tests.service import samples
from tests.service.api import Api, api_process


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[RedisServer]:
    with redis_server(folder / "redis") as server:
        yield server


@pytest.fixture(scope="session")
def api(server: RedisServer, folder: Path) -> Iterator[Api]:
    """The API with a worker of two processes behind it."""
    with (
        worker_process(server.url, folder / "worker.log", worker_processes=2, sweep_seconds=1),
        api_process(server.url, folder / "api.log", max_body_bytes=8_000_000, max_starts=5_000) as api,
    ):
        yield api


@pytest.fixture
def client(api: Api) -> Iterator[httpx2.Client]:
    with api.client() as client:
        yield client


@pytest.fixture(scope="session")
def dataset_id(api: Api) -> str:
    """Irises, labeled by name."""
    with api.client() as client:
        response = client.post("/v1/datasets", json=samples.irises())
    assert response.status_code in (200, 201)
    return str(response.json()["id"])


@pytest.fixture(scope="session")
def model_id(api: Api, dataset_id: str) -> str:
    """A model of the irises."""
    with api.client() as client:
        fit = samples.fit(
            client, {"dataset_id": dataset_id, "params": {"regularization": None, "n_starts": 2}, "validation": None}
        )
    assert fit["status"] == "succeeded"
    return str(fit["model_id"])


@pytest.fixture(scope="session")
def large_dataset_id(api: Api) -> str:
    """Rows on which many starts take many seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 20))
    body = samples.npz(X=X, y=(X[:, 0] + rng.normal(size=3_000) > 0).astype(int))
    with api.client() as client:
        response = client.post("/v1/datasets", content=body, headers={"Content-Type": "application/x-npz"})
    assert response.status_code in (200, 201)
    return str(response.json()["id"])
