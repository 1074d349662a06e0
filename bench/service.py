"""The service: what it costs on top of the library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
from threadpoolctl import threadpool_limits

from bench.measurement import Measurement, median_seconds
from melm import MELM
from tests.servers import redis_server, worker_process
from tests.service.api import api_process


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    repeats = 3 if quick else 10
    with (
        tempfile.TemporaryDirectory() as folder,
        redis_server(Path(folder) / "redis") as server,
        worker_process(server.url, Path(folder) / "worker.log", worker_processes=os.cpu_count() or 1),
        api_process(server.url, Path(folder) / "api.log") as api,
        httpx2.Client(base_url=api.url, timeout=60) as client,
    ):
        yield overhead_of_a_fit(client, repeats)


def overhead_of_a_fit(client: httpx2.Client, repeats: int) -> Measurement:
    """From POST to the result of a small fit, beyond the library's own time in a warm process."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    y = (X[:, 0] + X[:, 1] * rng.standard_normal(200) > 0).astype(int)
    dataset_id = client.post("/v1/datasets", json={"X": X.tolist(), "y": y.tolist()}).json()["id"]
    body = {
        "dataset_id": dataset_id,
        "params": {"regularization": None, "n_starts": 4},
        "validation": None,
        "force": True,
    }

    def fit_by_service() -> None:
        response = client.post("/v1/fits", json=body, headers={"Prefer": "wait=60"})
        if response.json()["status"] != "succeeded":
            raise RuntimeError(response.text)

    def fit_by_library() -> None:
        with threadpool_limits(1):
            MELM(regularization=None, n_starts=4).fit(X, y)

    by_library, by_service = median_seconds(fit_by_library, fit_by_service, repeats=repeats)
    return Measurement(
        "A fit of 200 x 10 with 4 starts by the service, beyond the library's own time, in ms",
        1e3 * (by_service - by_library),
        at_most=60,
        note=f"{1e3 * by_service:.0f} ms against {1e3 * by_library:.0f} ms",
    )
