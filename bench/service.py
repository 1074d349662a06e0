"""The service: what it costs on top of the library, and beside FastAPI routes that do less."""

from __future__ import annotations

import io
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx2
import numpy as np
from threadpoolctl import threadpool_limits

from bench.measurement import Measurement, median_seconds
from melm import MELM
from tests.servers import ROOT, redis_server, wait_until, worker_process
from tests.service.api import api_process, free_port

N_CONNECTIONS = 16
N_REQUESTS = 200  # of one turn


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    repeats = 3 if quick else 10
    with (
        tempfile.TemporaryDirectory() as folder,
        redis_server(Path(folder) / "redis") as server,
        worker_process(server.url, Path(folder) / "worker.log", worker_processes=os.cpu_count() or 1),
        api_process(server.url, Path(folder) / "api.log") as api,
        bare_app() as bare,
        httpx2.Client(base_url=api.url, timeout=60) as client,
    ):
        yield overhead_of_a_fit(client, repeats)
        model_id = make_model(client)
        yield from one_prediction(api.url, bare, model_id, repeats)
        yield from large_transform(client, bare, model_id, repeats)


@contextmanager
def bare_app(redis_url: str = "") -> Iterator[str]:
    """The rival, under the same server settings; gives its address."""
    port = free_port()
    options = ["--port", str(port), "--no-access-log", "--no-proxy-headers", "--no-server-header"]
    command = [sys.executable, "-m", "uvicorn", "bench.bare_app:app", "--log-level", "warning", *options]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "MELM_REDIS_URL": redis_url})
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(url))
        yield url
    finally:
        process.terminate()
        process.wait(15)


def answers(url: str) -> bool:
    """Whether somebody listens there."""
    try:
        return httpx2.post(f"{url}/constant").status_code == 200
    except httpx2.TransportError:
        return False


def overhead_of_a_fit(client: httpx2.Client, repeats: int) -> Measurement:
    """From POST to the result of a small fit, beyond the library's own time in a warm process."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    y = (X[:, 0] + X[:, 1] * rng.standard_normal(200) > 0).astype(int)
    dataset_id = client.post("/v1/datasets", json={"X": X.tolist(), "y": y.tolist()}).json()["id"]
    body = {"dataset_id": dataset_id, "params": {"n_starts": 4}, "validation": None, "force": True}

    def fit_by_service() -> None:
        response = client.post("/v1/fits", json=body, headers={"Prefer": "wait=60"})
        if response.json()["status"] != "succeeded":
            raise RuntimeError(response.text)

    def fit_by_library() -> None:
        with threadpool_limits(1):
            MELM(n_starts=4).fit(X, y)

    by_library, by_service = median_seconds(fit_by_library, fit_by_service, repeats=repeats)
    return Measurement(
        "A fit of 200 x 10 with 4 starts by the service, beyond the library's own time, in ms",
        1e3 * (by_service - by_library),
        at_most=60,
        note=f"{1e3 * by_service:.0f} ms against {1e3 * by_library:.0f} ms",
    )


def make_model(client: httpx2.Client) -> str:
    """A model of 50 features."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 50))
    data = {"X": X.tolist(), "y": (X[:, 0] > 0).tolist()}
    ask = {"data": data, "params": {"n_starts": 2}, "validation": None}
    fit = client.post("/v1/fits", json=ask, headers={"Prefer": "wait=60"}).json()
    return str(fit["model_id"])


def one_prediction(url: str, bare: str, model_id: str, repeats: int) -> Iterator[Measurement]:
    """Requests per second for the label of one row, against routes that return a constant."""
    row = json.dumps({"X": [[0.5] * 50]}).encode()
    path = f"/v1/models/{model_id}/predict"
    with (
        Load(url, path, row) as ours,
        Load(bare, "/constant/at-once", row) as coroutine,
        Load(bare, "/constant", row) as function,
    ):
        for how, send in (("", Load.send_in_turns), (", all sent at once down one connection", Load.send_at_once)):
            runs = [partial(send, load) for load in (ours, coroutine, function)]
            rates = [N_REQUESTS / seconds for seconds in median_seconds(*runs, repeats=4 * repeats)]
            for name, rate, least in (
                ("a bare FastAPI coroutine's", rates[1], None if how else 0.5),
                ("a bare FastAPI function's", rates[2], None),
            ):
                yield Measurement(
                    f"Requests per second for one prediction, as a share of {name}{how}",
                    rates[0] / rate,
                    at_least=least,
                    note=f"{rates[0]:,.0f} against {rate:,.0f}",
                )


class Load:
    """Equal requests to one server, by a client that does next to nothing."""

    def __init__(self, url: str, path: str, body: bytes) -> None:
        host, port = url.removeprefix("http://").split(":")
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        self._request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        self._connections = [socket.create_connection((host, int(port)), timeout=60) for _ in range(N_CONNECTIONS)]

    def __enter__(self) -> Load:
        self.send_at_once()
        self.send_in_turns()
        return self

    def __exit__(self, *failure: object) -> None:
        for connection in self._connections:
            connection.close()

    def send_in_turns(self) -> None:
        """As a load generator does: each connection sends its next request when it has its answer."""
        with selectors.DefaultSelector() as selector:
            for connection in self._connections:
                selector.register(connection, selectors.EVENT_READ)
                connection.sendall(self._request)
            n_sent, n_answered = len(self._connections), 0
            while n_answered < N_REQUESTS:
                for key, _ in selector.select():
                    connection = cast(socket.socket, key.fileobj)
                    if not receive(connection).endswith(b"}"):
                        continue  # the body comes after the headers
                    n_answered += 1
                    if n_sent < N_REQUESTS:
                        n_sent += 1
                        connection.sendall(self._request)

    def send_at_once(self) -> None:
        """Without waiting for an answer, so that the client's own speed does not matter."""
        connection = self._connections[0]
        connection.sendall(self._request * N_REQUESTS)
        received = b""
        while received.count(b"HTTP/1.1 200") < N_REQUESTS or not received.endswith(b"}"):
            received += receive(connection)


def receive(connection: socket.socket) -> bytes:
    """What has arrived, as long as it is no refusal."""
    received = connection.recv(1 << 20)
    if not received or b"HTTP/1.1 4" in received or b"HTTP/1.1 5" in received:
        raise RuntimeError(received.decode(errors="replace"))
    return received


def large_transform(client: httpx2.Client, bare: str, model_id: str, repeats: int) -> Iterator[Measurement]:
    """10,000 x 50 projected: as npy against reading the body alone, as JSON against a validated body."""
    X = np.random.default_rng(2).standard_normal((10_000, 50))
    stream = io.BytesIO()
    np.save(stream, X)
    as_npy = {"content": stream.getvalue(), "headers": {"Content-Type": "application/x-npy"}}
    as_json = {"content": json.dumps({"X": X.tolist()}), "headers": {"Content-Type": "application/json"}}
    path = f"/v1/models/{model_id}/transform"

    def post(url: str, request: dict[str, Any]) -> Callable[[], object]:
        return lambda: client.post(url, **request).raise_for_status()

    ours, reading = median_seconds(post(path, as_npy), post(f"{bare}/read", as_npy), repeats=repeats)
    yield Measurement(
        "Transform of 10,000 x 50 as npy, times an endpoint that only reads the body and answers as much",
        ours / reading,
        at_most=3,
        note=f"{1e3 * ours:.1f} ms against {1e3 * reading:.1f} ms",
    )
    ours, validated = median_seconds(post(path, as_json), post(f"{bare}/transform", as_json), repeats=repeats)
    yield Measurement(
        "Transform of 10,000 x 50 as JSON: how many times faster than a pydantic list[list[float]] body",
        validated / ours,
        at_least=4,
        note=f"{1e3 * ours:.0f} ms against {1e3 * validated:.0f} ms",
    )
