"""Datasets on their way in: memory is bounded by blocks, and what breaks off leaves nothing behind."""

from __future__ import annotations

import io
import resource
import signal
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from melm.tables.options import ReadOptions
from service.intake.formats import CODECS, Limits
from service.intake.upload import Reception
from tests.servers import RedisServer, redis_server, wait_until
from tests.service import samples
from tests.service.api import Api, api_process
from worker.engine import open_engine
from worker.store.errors import StoreFull
from worker.store.settings import Settings

LIMITS = Limits(bytes=1 << 30, rows=10**7, columns=1000)
PIECE_BYTES = 1 << 20
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, Api]]:
    """An API whose store holds nothing, but for what a test puts there."""
    folder = tmp_path_factory.mktemp("uploads")
    with (
        redis_server(folder / "redis") as server,
        api_process(server.url, folder / "api.log", max_rows=100_000, max_upload_bytes=40 * MEGABYTE) as api,
    ):
        yield server, api


def matrix(n_rows: int, n_columns: int = 20) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    return X, np.array(["left", "right"])[np.arange(n_rows) % 2]


def as_columns(X: npt.NDArray[np.float64], y: npt.NDArray[np.str_]) -> pa.Table:
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "label": y})


def as_npz(X: npt.NDArray[np.float64], y: npt.NDArray[np.str_]) -> bytes:
    return samples.npz(X=X, y=y, feature_names=np.array([f"x{j}" for j in range(X.shape[1])]))


def as_csv(X: npt.NDArray[np.float64], y: npt.NDArray[np.str_]) -> bytes:
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    return "\n".join(
        [header, *(",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True))]
    ).encode()


def as_stream(X: npt.NDArray[np.float64], y: npt.NDArray[np.str_]) -> bytes:
    sink = io.BytesIO()
    table = as_columns(X, y)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=5000)
    return sink.getvalue()


def as_parquet(X: npt.NDArray[np.float64], y: npt.NDArray[np.str_]) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(as_columns(X, y), sink, row_group_size=20_000)
    return sink.getvalue()


BODIES: dict[str, Callable[..., bytes]] = {
    "application/x-npz": as_npz,
    "text/csv": as_csv,
    "application/vnd.apache.arrow.stream": as_stream,
    "application/vnd.apache.parquet": as_parquet,
}


def pieces(body: bytes) -> Iterator[bytes]:
    return (body[begin : begin + PIECE_BYTES] for begin in range(0, len(body), PIECE_BYTES))


@pytest.mark.parametrize("media_type", BODIES)
def test_memory_is_bounded_by_blocks(
    media_type: str, alone: tuple[RedisServer, Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("upload", "formats.csv", "sandbox.decoder"):
        monkeypatch.setattr(f"service.intake.{module}.SPILL_BYTES", MEGABYTE)
    X, y = matrix(60_000, 100)
    body = BODIES[media_type](X, y)
    store = open_engine(Settings(redis_url=alone[0].url))
    target = None if media_type.endswith("npz") else "label"
    options = ReadOptions(target=target)
    arrow = pa.default_memory_pool()
    before = arrow.bytes_allocated()
    tracemalloc.start()
    try:
        reception = Reception(CODECS[media_type], LIMITS, options)
        most_of_arrow = 0
        for piece in pieces(body):
            reception.take(piece)
            most_of_arrow = max(most_of_arrow, arrow.bytes_allocated() - before)
        upload = reception.finish()
        record, _ = store.datasets.create("tenant", upload.X, upload.y, feature_names=upload.feature_names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert X.nbytes == 48 * MEGABYTE
    assert peak < X.nbytes / 2.5
    assert most_of_arrow < X.nbytes / 4
    assert np.array_equal(store.datasets.load("tenant", record.id).X, X)
    store.datasets.delete("tenant", record.id)
    store.close()


def test_no_room_for_a_body_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.intake.upload.SPILL_BYTES", 0)
    reception = Reception(CODECS["application/x-npz"], LIMITS, ReadOptions())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, hard))
    try:
        with pytest.raises(StoreFull, match="cannot be kept"):
            reception.take(bytes(2 * MEGABYTE))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def keys_of(server: RedisServer) -> set[bytes]:
    """What is in the store and stays."""
    return {key for key in server.client.scan_iter() if b"dataset" in key}


def test_a_body_that_breaks_off_leaves_nothing(alone: tuple[RedisServer, Api]) -> None:
    server, api = alone
    body = as_npz(*matrix(20_000))
    before = keys_of(server)
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /v1/datasets HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-npz\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2])
    wait_until(lambda: '"status":400' in api.log.read_text())
    assert keys_of(server) == before


@pytest.mark.parametrize(
    ("media_type", "body", "status", "word"),
    [
        (
            "text/csv",
            as_csv(*matrix(50_000)).replace(b",", b",x", 900_001).replace(b",x", b",", 900_000),
            422,
            "line 45001 (row index 44999), column",
        ),
        ("text/csv", b"a,label\n" + b"1,u\n2,v\n" * 50_001, 422, "limit of 100000"),
        ("application/x-npz", as_npz(*matrix(300_000)), 413, "40000000"),
        ("application/x-npz", as_npz(*matrix(100_001, 2)), 422, "limit of 100000"),
        ("application/x-npz", as_npz(*matrix(1_000))[:-30], 400, "npz"),
    ],
    ids=["a wrong cell near the end", "rows", "bytes", "rows of a matrix", "cut off"],
)
def test_what_is_refused_leaves_nothing(
    alone: tuple[RedisServer, Api], media_type: str, body: bytes, status: int, word: str
) -> None:
    server, api = alone
    before = keys_of(server)
    with api.client() as client:
        params = {} if media_type.endswith("npz") else {"target": "label"}
        headers = {"Content-Type": media_type}
        response = client.post("/v1/datasets", params=params, content=pieces(body), headers=headers)
    assert response.status_code == status, response.text[:500]
    assert word in response.text
    assert keys_of(server) == before


def test_a_full_server_keeps_nothing(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis", "--maxmemory", "30mb") as server,
        api_process(server.url, tmp_path / "api.log") as api,
        api.client() as client,
    ):
        body, headers = as_npz(*matrix(300_000)), {"Content-Type": "application/x-npz"}
        response = client.post("/v1/datasets", content=pieces(body), headers=headers)
        assert response.status_code == 503
        assert "full" in response.json()["detail"]
        assert int(response.headers["Retry-After"]) > 0
        assert keys_of(server) == set()


def test_an_api_that_is_killed_leaves_nothing_that_stays(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as server,
        api_process(server.url, tmp_path / "api.log") as api,
        httpx2.Client(base_url=api.url, timeout=60) as client,
    ):
        stop = server.client.pubsub()  # type: ignore[no-untyped-call]  # the server says when the first block is there
        server.client.config_set("notify-keyspace-events", "Kh")
        stop.psubscribe("__keyspace@0__:*blocks")
        wait_until(stop.get_message)
        body, headers = as_npz(*matrix(300_000)), {"Content-Type": "application/x-npz"}

        def killing() -> Iterator[bytes]:
            yield from pieces(body[:-1])
            yield body[-1:]
            wait_until(lambda: (message := stop.get_message()) and message["type"] == "pmessage")
            api.process.send_signal(signal.SIGKILL)

        with pytest.raises(httpx2.TransportError):
            client.post("/v1/datasets", content=killing(), headers={**headers, "Content-Length": str(len(body))})
        assert keys_of(server)
        assert all(0 < server.client.ttl(key) <= 60 for key in keys_of(server))
