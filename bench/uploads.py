"""Large data through the service: uploads, the memory they take, and fits by one worker process and by two."""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from bench.large import N_STARTS, clusters
from bench.measurement import Measurement
from bench.serving import app_process
from bench.tables import numbers_as_csv, pieces
from melm import MELM
from melm.typing import Array
from tests.servers import redis_server, worker_process
from tests.service.api import Api, api_process

NPZ, CSV = {"Content-Type": "application/x-npz"}, {"Content-Type": "text/csv"}
ROUNDS = 3


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    n_rows = 100_000 if quick else 1_000_000
    X, y = clusters(n_rows)
    npz = as_npz(X, y)
    with running() as (url, folder, api), httpx2.Client(base_url=api.url, timeout=600) as client:
        with app_process("bench.bare_app", {"MELM_REDIS_URL": url}) as bare:
            yield against_a_copy(client, bare, npz, n_rows)
        csv = numbers_as_csv(n_rows)
        for name, body, headers, params in (("npz", npz, NPZ, {}), ("CSV", csv, CSV, {"target": "label"})):
            yield extra_memory(api, client, name, body, headers, params, X.nbytes)
        del csv
        yield whole_fit(url, folder, client, npz, X, y)
        yield two_workers(url, folder, client, 20_000 if quick else 100_000)


@contextmanager
def running() -> Iterator[tuple[str, Path, Api]]:
    """A server and an API: the server's address, a folder for logs, the API."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with redis_server(folder / "redis") as server, api_process(server.url, folder / "api.log") as api:
            yield server.url, folder, api


def as_npz(X: Array, y: Any) -> bytes:
    """A matrix as it is uploaded."""
    stream = io.BytesIO()
    np.savez(stream, X=X, y=y)
    return stream.getvalue()


def upload(
    client: httpx2.Client, body: bytes, headers: dict[str, str], params: dict[str, str] | None = None
) -> tuple[str, float]:
    """Send a dataset; gives its id, and the seconds until it was stored."""
    began = time.perf_counter()
    response = client.post("/v1/datasets", content=pieces(body), headers=headers, params=params)
    seconds = time.perf_counter() - began
    return str(response.raise_for_status().json()["id"]), seconds


def against_a_copy(client: httpx2.Client, bare: str, body: bytes, n_rows: int) -> Measurement:
    """An upload, checked and hashed and stored, against the same bytes copied to the same server by the same way."""
    ours, theirs = float("inf"), float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        client.post(f"{bare}/copy", content=pieces(body)).raise_for_status()
        theirs = min(theirs, time.perf_counter() - began)
        dataset_id, seconds = upload(client, body, NPZ)
        ours = min(ours, seconds)
        client.delete(f"/v1/datasets/{dataset_id}")
    return Measurement(
        f"Upload of {n_rows:,} x 30 as npz, times a plain copy of the bytes into the same server",
        ours / theirs,
        at_most=2,
        note=f"{ours:.2f} s against {theirs:.2f} s",
    )


def extra_memory(
    api: Api,
    client: httpx2.Client,
    name: str,
    body: bytes,
    headers: dict[str, str],
    params: dict[str, str],
    n_bytes: int,
) -> Measurement:
    """What the API holds in memory of its own while it takes an upload in, files that it has mapped left out."""
    at_rest = own_bytes(api.process.pid)
    peak, ended = at_rest, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.005):
            peak = max(peak, own_bytes(api.process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        dataset_id, seconds = upload(client, body, headers, params)
    finally:
        ended.set()
        watcher.join()
    client.delete(f"/v1/datasets/{dataset_id}")
    return Measurement(
        f"Memory of the API for an upload as {name} beyond that at rest, times the data",
        (peak - at_rest) / n_bytes,
        note=f"{(peak - at_rest) / 1e6:.0f} MB for {len(body) / 1e6:.0f} MB in {seconds:.1f} s",
    )


def own_bytes(pid: int) -> int:
    """Memory of a process that no file stands behind."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")))


def whole_fit(url: str, folder: Path, client: httpx2.Client, body: bytes, X: Array, y: Any) -> Measurement:
    """From the first byte of the upload to the model, against the library's fit in a process that is warm."""
    MELM(regularization=None, n_starts=2, random_state=0).fit(X[:1000], y[:1000])
    began = time.perf_counter()
    MELM(regularization=None, n_starts=N_STARTS, random_state=0).fit(X, y)
    by_library = time.perf_counter() - began
    with worker_process(url, folder / "worker.log", worker_processes=os.cpu_count() or 1):
        began = time.perf_counter()
        dataset_id, uploading = upload(client, body, NPZ)
        fit(client, dataset_id)
        by_service = time.perf_counter() - began
        client.delete(f"/v1/datasets/{dataset_id}")
    return Measurement(
        f"Fit of {len(X):,} x 30 by the service, upload and model included, times the library's",
        by_service / by_library,
        at_most=1.5,
        note=f"{by_service:.1f} s, of which the upload {uploading:.1f} s, against {by_library:.1f} s",
    )


def two_workers(url: str, folder: Path, client: httpx2.Client, n_rows: int) -> Measurement:
    """The same fit by a worker of one process and by one of two, in turns; both have fitted something before."""
    X, y = clusters(n_rows)
    dataset_id, _ = upload(client, as_npz(X, y), NPZ)
    small_id, _ = upload(client, as_npz(X[:1000], y[:1000]), NPZ)
    shortest = {1: float("inf"), 2: float("inf")}
    for _ in range(ROUNDS):
        for n_processes in shortest:
            with worker_process(url, folder / "worker.log", worker_processes=n_processes):
                fit(client, small_id)
                began = time.perf_counter()
                fit(client, dataset_id)
                shortest[n_processes] = min(shortest[n_processes], time.perf_counter() - began)
    return Measurement(
        f"Fit of {n_rows:,} x 30 by two worker processes, times one",
        shortest[2] / shortest[1],
        at_most=0.75,
        note=f"{shortest[2]:.1f} s against {shortest[1]:.1f} s",
    )


def fit(client: httpx2.Client, dataset_id: str) -> None:
    """Fit and wait for the model."""
    body = {
        "dataset_id": dataset_id,
        "params": {"regularization": None, "n_starts": N_STARTS},
        "validation": None,
        "force": True,
    }
    record = client.post("/v1/fits", json=body, headers={"Prefer": "wait=60"}).json()
    while record["status"] in ("queued", "running"):
        record = client.get(f"/v1/fits/{record['id']}", headers={"Prefer": "wait=60"}).json()
    if record["status"] != "succeeded":
        raise RuntimeError(str(record))
