"""Requests that cost more than they look."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import httpx2
import numpy as np
import pytest

from melm.density import ClassDensities
from melm.typing import never
from service.pictures import plot
from tests.attack.bystander import Bystander
from tests.attack.conftest import Record
from tests.attack.service import MALLORY, Attacked
from tests.service import samples

pytestmark = pytest.mark.slow

NPY, NPZ, CSV = ({"Content-Type": kind} for kind in ("application/x-npy", "application/x-npz", "text/csv"))


def fitted(client: httpx2.Client, X: np.typing.NDArray[np.float64], y: np.typing.NDArray[np.int64], k: int) -> str:
    """A model of PCA with so many components."""
    dataset = client.post("/v1/datasets", content=samples.npz(X=X, y=y), headers=NPZ).json()
    params = {"n_components": k}
    fit = samples.fit(client, {"dataset_id": dataset["id"], "method": "pca", "params": params, "validation": None})
    assert fit["status"] == "succeeded", fit
    return str(fit["model_id"])


def test_predictions_that_nobody_waits_for(
    attacked: Attacked, bystander: Bystander, record: Record, size: Callable[[int, int], int]
) -> None:
    """With four components each row is compared with each kernel."""
    rng = np.random.default_rng(0)
    n = size(10, 45)
    with attacked.api.client(MALLORY) as client:
        X = rng.normal(size=(5_000, 6))
        model_id = fitted(client, X, np.arange(5_000) % 2, 4)
        body = samples.npy(rng.normal(size=(200_000, 6)))
        path = f"/v1/models/{model_id}/predict"

        def abandon() -> None:
            with suppress(httpx2.TimeoutException):
                client.post(path, content=body, headers=NPY, timeout=httpx2.Timeout(60, read=0.5))

        with bystander.watching() as seen:
            threads = [Thread(target=abandon) for _ in range(n)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            began = time.monotonic()
            assert client.post(path, content=samples.npy(X[:10_000]), headers=NPY).status_code == 200
            seconds = time.monotonic() - began
    record(
        f"{n} abandoned predictions of 200,000 rows with four components",
        "all threads but one; stopped when the client has gone, or after `MELM_MAX_WORK_SECONDS`",
        f"free again after {seconds:.1f} s; predict {seen.ratio:.1f} times its quiet p99",
    )


def wide_csv(n_columns: int, n_rows: int = 20) -> bytes:
    """Whole numbers that increase in each column: each could be an id."""
    header = ",".join([*(f"c{j}" for j in range(n_columns)), "y"])
    rows = [",".join([str(i + 1)] * n_columns + ["ab"[i % 2]]) for i in range(n_rows)]
    return "\n".join([header, *rows]).encode()


@pytest.mark.parametrize("as_text", [False, True])
def test_many_columns_cost_what_their_bytes_do(attacked: Attacked, record: Record, as_text: bool) -> None:
    """Beside a table of as many bytes that has few columns, and twice as many columns beside the half."""
    seconds: dict[int, float] = {}
    with attacked.api.client(MALLORY) as client:
        for n_columns in (500, 2_000):
            body = wide_csv(n_columns)
            if as_text:  # numbers too long to be numbers
                body = body.replace(b"\n1,", b"\n10000000000000000001,").replace(b",1,", b",10000000000000000001,")
            began = time.monotonic()
            status = client.post("/v1/datasets?target=y", content=body, headers=CSV).status_code
            assert status in (200, 201, 422)
            seconds[n_columns] = time.monotonic() - began
    ratio = seconds[2_000] / seconds[500]
    assert ratio < 12  # four times the bytes; their square would be 16 times, their cube 64
    if not as_text:
        record("CSV with 2,000 increasing columns", "linear in its bytes", f"{ratio:.1f} times a quarter of it")


def test_a_picture_of_many_classes(record: Record) -> None:
    """Drawn here: to learn so many classes takes longer than to draw them."""
    rng = np.random.default_rng(0)
    seconds = {}
    for n_classes in (500, 2_000):
        rows = [rng.normal(size=(2, 2)) for _ in range(n_classes)]
        smoothing = np.broadcast_to(np.eye(2), (n_classes, 2, 2))
        densities = ClassDensities(rows, smoothing, np.full(n_classes, 1 / n_classes))
        nothing = [np.empty((0, 2)) for _ in rows]
        began = time.process_time()
        plot.pair_panel(densities, rows, nothing, list(range(n_classes)), (0, 1), never)
        seconds[n_classes] = time.process_time() - began
    ratio = seconds[2_000] / seconds[500]
    assert ratio < 6  # four times the classes
    record("a picture of 2,000 classes", "linear in classes", f"{ratio:.1f} times a quarter of them")
