"""Many features: dense and sparse rows, their memory, and how the cost grows with the features."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from bench.large import N_STARTS
from bench.measurement import Measurement
from bench.uploads import NPZ, as_npz, running, upload
from melm.data.row_space import RANK
from melm.estimator import MELM
from melm.typing import Array, Matrix
from tests.servers import worker_process

N_ROWS = 200
ROUNDS = 3


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    n_features = 5_000 if quick else 20_000
    yield against_svd(n_features)
    yield extra_memory(n_features)
    yield growth(20_000 if quick else 200_000)
    yield through_the_service(n_features)
    yield from sparse(*(2_200, 20_000) if quick else (11_000, 100_000))


def wide(n_features: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Two classes that differ a little in 50 features."""
    generator = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    X = generator.standard_normal((N_ROWS, n_features))
    X[:, :50] += 0.5 * y[:, None]
    return X, y


def counts(n_rows: int, n_features: int, filled: float = 0.01) -> tuple[Any, npt.NDArray[np.int64]]:
    """Sparse rows of four classes, each with features of its own that it fills more often."""
    generator = np.random.default_rng(0)
    y = np.arange(n_rows) % 4
    n_filled = int(filled * n_features)
    columns = generator.integers(n_features, size=(n_rows, n_filled))
    columns[:, :10] = 100 * y[:, None] + generator.integers(100, size=(n_rows, 10))
    begins = n_filled * np.arange(n_rows + 1)
    X = csr_array((generator.exponential(size=columns.size), columns.ravel().astype(np.int32), begins))
    X.sum_duplicates()
    return X, y


def fit(X: Matrix, y: npt.NDArray[np.int64]) -> MELM:
    """The plain search."""
    return MELM(n_starts=N_STARTS, regularization=None, random_state=0).fit(X, y)


def against_svd(n_features: int) -> Measurement:
    """A fit in turns with one thin SVD of its rows."""
    X, y = wide(n_features)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        np.linalg.svd(X, full_matrices=False)
        theirs.append(time.process_time() - began)
        began = time.process_time()
        fit(X, y)
        ours.append(time.process_time() - began)
    return Measurement(
        f"Fit of {N_ROWS} x {n_features:,} with {N_STARTS} starts, times one thin SVD of the rows",
        min(ours) / min(theirs),
        at_most=5,
        note=f"{min(ours):.2f} s against {min(theirs):.2f} s",
    )


def memory_of(program: str) -> list[float]:
    """What a program prints of its memory, in a process of its own that has fitted something small before."""
    beginning = """
from bench.measurement import peak_bytes
from bench.wide import counts, fit, wide
fit(*wide(300))
"""
    run = subprocess.run([sys.executable, "-c", beginning + program], capture_output=True, text=True, check=True)
    return list(map(float, run.stdout.split()))


def extra_memory(n_features: int) -> Measurement:
    """Peak memory of a fit beyond the data."""
    (share,) = memory_of(f"""
X, y = wide({n_features})
before = peak_bytes()
fit(X, y)
print((peak_bytes() - before) / X.nbytes)
""")
    name = f"Peak memory of a fit of {N_ROWS} x {n_features:,} beyond the data, times the data"
    return Measurement(name, share, at_most=2)


def growth(largest: int) -> Measurement:
    """From few features to many, at as many rows."""
    seconds = {}
    for n_features in (2_000, largest):
        X, y = wide(n_features)
        taken = []
        for _ in range(ROUNDS):
            began = time.process_time()
            fit(X, y)
            taken.append(time.process_time() - began)
        seconds[n_features] = min(taken)
    exponent = float(np.log(seconds[largest] / seconds[2_000]) / np.log(largest / 2_000))
    return Measurement(
        f"Fit of {N_ROWS} rows from 2,000 to {largest:,} features grows as d to the power of",
        exponent,
        at_most=1.1,
        note=f"{seconds[2_000]:.2f} s and {seconds[largest]:.2f} s",
    )


def through_the_service(n_features: int) -> Measurement:
    """From the first byte of the upload to the end of the evidence of five folds, by one worker process."""
    X, y = wide(n_features)
    body = as_npz(X, y)
    params = {"n_starts": N_STARTS, "regularization": None}
    ask = {"params": params, "validation": {"folds": 5}, "force": True}
    ours, theirs = [], []
    with (
        running() as (url, folder, api),
        httpx2.Client(base_url=api.url, timeout=600) as client,
        worker_process(url, folder / "worker.log", worker_processes=1),
    ):
        for _ in range(ROUNDS):
            began = time.perf_counter()
            np.linalg.svd(X, full_matrices=False)
            theirs.append(time.perf_counter() - began)
            began = time.perf_counter()
            dataset_id, _ = upload(client, body, NPZ)
            wait = {"Prefer": "wait=60"}
            record = client.post("/v1/fits", json={"dataset_id": dataset_id, **ask}, headers=wait).json()
            while record["status"] in ("queued", "running"):
                record = client.get(f"/v1/fits/{record['id']}", headers=wait).json()
            ours.append(time.perf_counter() - began)
            if record["status"] != "succeeded":
                raise RuntimeError(str(record))
            client.delete(f"/v1/datasets/{dataset_id}")
    return Measurement(
        f"Upload, fit and five folds of {N_ROWS} x {n_features:,} by the service, times one thin SVD of the rows",
        min(ours) / min(theirs),
        at_most=20,
        note=f"{min(ours):.1f} s against {min(theirs):.2f} s",
    )


def sparse(n_rows: int, n_features: int) -> Iterator[Measurement]:
    """A fit of sparse rows, and what it takes in memory beyond the rows in as many directions as are kept."""
    seconds, extra, data = memory_of(f"""
import time
X, y = counts({n_rows}, {n_features})
before = peak_bytes()
began = time.process_time()
model = fit(X, y).model_
print(time.process_time() - began, peak_bytes() - before, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
assert model.card.reduction.n_directions == {RANK}
""")
    reduced = 8.0 * n_rows * RANK
    yield Measurement(
        f"Peak memory of a fit of sparse {n_rows:,} x {n_features:,}, 1 % filled, beyond the data and its rows in "
        f"{RANK} directions, times the CSR arrays",
        (extra - reduced) / data,
        at_most=3,
        note=f"{extra / 1e6:.0f} MB for {data / 1e6:.0f} MB; {seconds:.0f} s",
    )
