"""Serving: predict and transform as shares of a constant route's rate, beside peers with the same model.

The constant route is a FastAPI coroutine that reads the whole body and answers fixed bytes of the same size. Every
server is one uvicorn process with uvloop and httptools, asked over one connection by a client that waits. Litestar is
no dependency: it takes part where `BENCH_LITESTAR` names a folder that has it, as by
`uv pip install --target FOLDER litestar`.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt

from bench.large import clusters
from bench.measurement import Measurement, median_seconds
from melm import methods
from melm.model import Model
from melm.model import file as model_file
from melm.typing import Array
from tests.servers import ROOT, redis_server, wait_until
from tests.service.api import api_process, free_port

REPEATS = 5
SECONDS = 0.5  # of one turn
SHAPE = 10_000, 50
LEAST = {"npy": 0.60, "npz": 0.60, "JSON": 0.35}
MEDIA_TYPES = {"npy": "application/x-npy", "npz": "application/x-npz", "JSON": "application/json"}
N_LARGE, N_SMALL = 1_000_000, 1_000
N_CONNECTIONS = 64


class Client:
    """One connection that is kept. It waits for each answer."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._host = host
        self._connection = socket.create_connection((host, int(port)), timeout=60)
        self._received = bytearray(1 << 23)

    def request(self, path: str, body: bytes, media_type: str) -> bytes:
        """A request as it goes over the wire."""
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {media_type}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def ask(self, request: bytes) -> bytes:
        """The body of the answer."""
        self._connection.sendall(request)
        view = memoryview(self._received)
        n_received, head = self._receive(view, 0), b""
        while not head:
            head, separator, _ = bytes(view[:n_received]).partition(b"\r\n\r\n")
            if not separator:
                n_received, head = self._receive(view, n_received), b""
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(bytes(view[:n_received]).decode(errors="replace"))
        begin = len(head) + 4
        end = begin + int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while n_received < end:
            n_received = self._receive(view, n_received)
        return bytes(view[begin:end])

    def _receive(self, view: memoryview, n_received: int) -> int:
        if not (n_bytes := self._connection.recv_into(view[n_received:])):
            raise RuntimeError("the server closed the connection")
        return n_received + n_bytes


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    seconds = SECONDS / 5 if quick else SECONDS
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((500, SHAPE[1]))
    model = methods.fit("pca", rows, rows[:, 0] > 0, n_components=2)
    n_large = N_LARGE // 10 if quick else N_LARGE
    X, y = clusters(n_large)
    small, large = (methods.fit("pca", X[:n], y[:n], n_components=2) for n in (N_SMALL, n_large))
    yield from cold_loads(large, X, y)
    with tempfile.TemporaryDirectory() as name, redis_server(Path(name) / "redis") as redis:
        folder = Path(name)
        with api_process(redis.url, folder / "api.log") as api:
            model_id = keep(api.url, model)
            yield from shares(api.url, model_id, model, folder, seconds)
            yield from one_row_of_large_models(api.url, small, large, n_large)
        yield two_processes(redis.url, model_id, folder, 2 * seconds)


def keep(url: str, model: Model) -> str:
    """Import a model; its id."""
    headers = {"Content-Type": "application/x-npz"}
    answer = httpx2.post(f"{url}/v1/models", content=model_file.dump(model), headers=headers, timeout=60)
    return str(answer.raise_for_status().json()["id"])


def shares(url: str, model_id: str, model: Model, folder: Path, seconds: float) -> Iterator[Measurement]:
    """Rates as shares of the constant route's, ours and those of peers."""
    row = json.dumps({"X": [[0.5] * SHAPE[1]]}).encode()
    cases = [("predict", "JSON", row, "Predict of one row as JSON", 0.5)]
    for name, body in bodies().items():
        cases.append(("transform", name, body, f"Transform of {SHAPE[0]:,} x {SHAPE[1]} as {name}", LEAST[name]))
    ours = Client(url)
    answers = [
        ours.ask(ours.request(f"/v1/models/{model_id}/{do}", body, MEDIA_TYPES[kind])) for do, kind, body, *_ in cases
    ]
    (folder / "model.npz").write_bytes(model_file.dump(model))
    variables = {
        "BENCH_MODEL": str(folder / "model.npz"),
        "BENCH_ANSWER_BYTES": ",".join(str(len(answer)) for answer in answers),
    }
    with ExitStack() as stack:
        addresses = {"FastAPI": stack.enter_context(app_process("bench.bare_app", variables))}
        if path := os.environ.get("BENCH_LITESTAR"):
            variables["PYTHONPATH"] = path
            addresses["litestar"] = stack.enter_context(app_process("bench.litestar_app", variables))
        for (do, kind, body, what, least), answer in zip(cases, answers, strict=True):
            constant = addresses["FastAPI"]
            asked = {"constant": (constant, f"/constant/{len(answer)}"), "melm": (url, f"/v1/models/{model_id}/{do}")}
            asked |= {peer: (address, f"/{do}/{kind.lower()}") for peer, address in addresses.items() if kind != "npz"}
            rates = rates_of(asked, body, MEDIA_TYPES[kind], seconds)
            found = {name: rate / rates["constant"] for name, rate in rates.items()}
            for name, share in found.items():
                note = f"{rates[name]:,.0f} against {rates['constant']:,.0f} in a second"
                if name == "melm":
                    yield Measurement(f"{what}, as a share of a constant route's rate", share, None, least, note)
                elif name != "constant":
                    yield Measurement(f"{what}, by a plain {name} route", share, at_most=found["melm"], note=note)


def bodies() -> dict[str, bytes]:
    """The same rows in three formats."""
    X = np.random.default_rng(2).standard_normal(SHAPE)
    npy, npz = io.BytesIO(), io.BytesIO()
    np.save(npy, X)
    np.savez(npz, X=X)
    return {"npy": npy.getvalue(), "npz": npz.getvalue(), "JSON": json.dumps({"X": X.tolist()}).encode()}


def rates_of(asked: dict[str, tuple[str, str]], body: bytes, media_type: str, seconds: float) -> dict[str, float]:
    """Requests per second at each address and path: the medians of runs that take turns."""
    runs = {}
    for name, (url, path) in asked.items():
        client = Client(url)
        runs[name] = client, client.request(path, body, media_type)
        client.ask(runs[name][1])
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, (client, request) in runs.items():
            began, n_answers = time.perf_counter(), 0
            while (taken := time.perf_counter() - began) < seconds:
                client.ask(request)
                n_answers += 1
            rates[name].append(n_answers / taken)
    return {name: median(each) for name, each in rates.items()}


@contextmanager
def app_process(module: str, variables: dict[str, str]) -> Iterator[str]:
    """A rival in a process of its own, under the same server settings; gives its address."""
    port = free_port()
    options = ["--port", str(port), "--no-access-log", "--no-proxy-headers", "--no-server-header"]
    options += ["--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
    command = [sys.executable, "-m", "uvicorn", f"{module}:app", *options]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables})
    try:
        wait_until(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(15)


def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def one_row_of_large_models(url: str, small: Model, large: Model, n_large: int) -> Iterator[Measurement]:
    """Predict of one row, by how many rows the model was fitted to."""
    row = json.dumps({"X": [[0.5] * 30]}).encode()
    paths = [f"/v1/models/{keep(url, model)}/predict" for model in (small, large)]
    client = Client(url)
    asked = [client.request(path, row, MEDIA_TYPES["JSON"]) for path in paths]
    taken: list[list[float]] = [[], []]
    for _ in range(REPEATS):
        for request, seconds in zip(asked, taken, strict=True):
            client.ask(request)
            for _ in range(200):
                began = time.perf_counter()
                client.ask(request)
                seconds.append(time.perf_counter() - began)
    for quantile, name in ((0.5, "median"), (0.99, "99th percentile")):
        by_small, by_large = (1e3 * float(np.quantile(seconds, quantile)) for seconds in taken)
        yield Measurement(
            f"Predict of one row by a model of {n_large:,} training rows, times one of {N_SMALL:,}: {name}",
            by_large / by_small,
            at_most=2,
            note=f"{by_large:.2f} ms against {by_small:.2f} ms",
        )


def two_processes(redis_url: str, model_id: str, folder: Path, seconds: float) -> Measurement:
    """Predictions per second from many connections, by two API processes against one."""
    with (
        api_process(redis_url, folder / "one.log") as one,
        api_process(redis_url, folder / "two.log", api_processes=2) as two,
    ):
        rates: list[list[float]] = [[], []]
        for _ in range(REPEATS):
            for api, found in zip((one, two), rates, strict=True):
                found.append(rate_of_predictions(api.url, model_id, seconds))
    by_one, by_two = map(median, rates)
    return Measurement(
        f"Predictions per second from {N_CONNECTIONS} connections by two API processes, times one",
        by_two / by_one,
        at_least=1.4,
        note=f"{by_two:,.0f} against {by_one:,.0f}, on {os.cpu_count()} cores with the load generator",
    )


def rate_of_predictions(url: str, model_id: str, seconds: float) -> float:
    """What the load generator says."""
    command = [sys.executable, "-m", "bench.traffic", url, model_id, "none", "--features", str(SHAPE[1])]
    options = ["--only", "predict", "--connections", str(N_CONNECTIONS), "--seconds", str(seconds)]
    done = subprocess.run([*command, *options], cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=seconds + 60)
    told: dict[str, Any] = json.loads(done.stdout)
    if told["errors"]:
        raise RuntimeError(told["errors"])
    return float(told["requests_per_second"])


def cold_loads(compacted: Model, X: Array, y: npt.NDArray[Any]) -> Iterator[Measurement]:
    """A model's file decoded, against a copy of its bytes: with all training rows, and as compaction leaves it."""
    rows = [compacted.transform(X[y == label]) for label in compacted.classes]
    whole = replace(compacted, densities=replace(compacted.densities, rows=rows, weights=None))
    for model, what, at_most in ((whole, "all rows kept", 20.0), (compacted, "compacted", None)):
        content = model_file.dump(model)
        runs = partial(model_file.load, content), partial(bytearray, content)
        loading, copying = median_seconds(*runs, repeats=3 * REPEATS)
        yield Measurement(
            f"Decoding a model of {len(X):,} training rows, {what}, times a copy of its file's bytes",
            loading / copying,
            at_most=at_most,
            note=f"{1e3 * loading:.1f} ms for {len(content) / 1e6:.1f} MB",
        )
