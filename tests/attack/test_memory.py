"""Bodies that take more memory than they look: a process stays within a base and a factor of what it has admitted."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from service.intake.memory import FACTOR
from tests.attack.conftest import FULL, Record
from tests.attack.service import ADA, KEYS, MALLORY, Attacked, model_of, peak_of, status_of
from tests.attack.test_connections import connected
from tests.servers import redis_server, worker_process
from tests.service import samples
from tests.service.api import api_process

LIMIT = (96 if FULL else 24) << 20
BOUND = FACTOR * LIMIT // 2  # one of two tenants has half
MB = 1 << 20
JSON, CSV, NPY, NPZ = "application/json", "text/csv", "application/x-npy", "application/x-npz"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A service that lets requests hold little."""
    folder = tmp_path_factory.mktemp("small")
    with (
        redis_server(folder / "redis") as server,
        worker_process(server.url, folder / "worker.log", worker_processes=1),
        api_process(
            server.url,
            folder / "api.log",
            keys=KEYS,
            max_bytes_in_flight=LIMIT,
            model_cache_bytes=16 * MB,
            store_timeout_seconds=30,
        ) as api,
    ):
        service = Attacked(api, server, model_of(api, ADA))
        with api.client(MALLORY) as client:  # what is loaded once, such as the decoders' process, is part of the base
            for path, media_type, body in requests(f"/v1/models/{model_of(api, MALLORY)}", 1):
                client.post(path, content=body, headers={"Content-Type": media_type})
        yield service


def repeated(begin: str, part: str, end: str, n_bytes: int) -> bytes:
    """A part as often as it goes into so many bytes."""
    return (begin + part * (n_bytes // len(part))).rstrip(",").encode() + end.encode()


def arrow(table: pa.Table) -> bytes:
    """A table as a stream of Arrow."""
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def parquet(table: pa.Table) -> bytes:
    """A table as Parquet."""
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def different_texts(n_bytes: int) -> bytes:
    """CSV in which each row has a text of its own."""
    return "\n".join(["t,x,y", *(f"text{i},{i},{'ab'[i % 2]}" for i in range(n_bytes // 18))]).encode()


def many_columns(n_bytes: int) -> bytes:
    """CSV of as many columns as bytes allow."""
    n = n_bytes // 10
    rows = ["1," * n + "a", "2," * n + "b"]
    return "\n".join([",".join(f"c{j}" for j in range(n)) + ",y", *rows, *rows]).encode()


def requests(model: str, mb: int) -> Iterator[tuple[str, str, bytes]]:
    """Requests with bodies of some megabytes, or that unfold to many times as much: sound ones and wrong ones."""
    n = mb * MB
    data, predict = "/v1/datasets", f"{model}/predict"
    table = "/v1/datasets?target=y"
    yield data, JSON, repeated('{"X":[', "[1.5,2.5],", '],"y":[0]}', n)
    yield data, JSON, repeated('{"X":[', "[1,2],[1],", '],"y":[0]}', n)
    yield data, JSON, repeated('{"X":[', "[],", '],"y":[0]}', n)
    yield data, JSON, repeated('{"X":[', '["a",2],', '],"y":[0]}', n)
    yield data, JSON, repeated('{"X":[', "{},", '],"y":[0]}', n)
    yield data, JSON, repeated('{"X":[[1],[2]],"y":[', '"a",', "]}", n)
    yield data, JSON, repeated('{"rows":[', '{"a":1,"b":2},', "]}", n)
    yield data, JSON, repeated('{"rows":[', '{"a":"x"},', "]}", n)
    yield data, JSON, b'{"X":' + b"[" * n
    yield "/v1/fits", JSON, repeated('{"data":{"X":[', "[1,2],[1],", "]}}", n)
    yield "/v1/fits", JSON, repeated('{"dataset_id":"ds_1","metadata":{', '"a":"b",', "}}", n)
    yield predict, JSON, repeated('{"X":[', "[1],", "]}", n)
    yield predict, JSON, repeated('{"X":[', "[1,2,3,4],", "]}", n)
    yield predict, CSV, b"a,b,c,d\n" + b"1.5,2.5,3.5,4.5\n" * (n // 16)
    yield predict, NPY, samples.npy(np.zeros((n // 32, 4)))
    yield f"{model}/predict_proba", NPY, samples.npy(np.zeros((n // 32, 4)))
    yield f"{model}/score", NPZ, samples.npz(X=np.zeros((n // 40, 4)), y=np.zeros(n // 40, np.int64))
    yield table, CSV, b"x,y\n" + b"1,a\n2,b\n" * (n // 8)
    yield table, CSV, b"x,y\n" + b"1,2,3\n4\n" * (n // 8)
    yield table, CSV, different_texts(n)
    yield table, CSV, many_columns(n // 16)
    yield data, NPZ, samples.npz(X=np.zeros((n // 16, 1)), y=np.arange(n // 16))
    yield data, NPZ, samples.deflated_npz(X=np.zeros((n, 4)), y=np.zeros(n, np.int64))
    yield predict, NPZ, samples.deflated_npz(X=np.zeros((n, 4)))
    yield "/v1/models", NPZ, samples.deflated_npz(X=np.zeros((n, 4)))
    yield data, NPZ, samples.npz(X=np.zeros((n // 8, 1)), y=np.array(["a" * n, "b"]))
    yield data, NPZ, samples.npz(X=np.ones((4 * mb, 1)), y=np.array(["a" * (n // 4), "b"] * (2 * mb)))
    yield data, NPZ, samples.npz(X=np.ones((2 * (n // 1024), 1)), y=np.array(["a" * 1000, "b"] * (n // 1024)))
    names = np.arange(n // 64).astype(str)
    yield data, NPZ, samples.npz(X=np.ones((4, len(names))), y=np.arange(4) % 2, feature_names=names)
    constant = pa.table({"x": np.zeros(n), "y": np.arange(n) % 2})
    yield table, PARQUET, parquet(constant)
    yield predict, PARQUET, parquet(constant)
    yield table, ARROW, arrow(constant.slice(0, n // 16))
    yield (
        table,
        PARQUET,
        parquet(pa.table({"t": ["x" * 500 + str(i) for i in range(n // 100)], "y": np.arange(n // 100) % 2})),
    )


def test_no_body_takes_more_than_is_admitted(small: Attacked, record: Record, size: Callable[[int, int], int]) -> None:
    """Each by itself, and no answer is a failure of the service."""
    grown = 0
    with small.api.client(MALLORY) as client:
        model = f"/v1/models/{model_of(small.api, MALLORY)}"
        for path, media_type, body in requests(model, size(2, 8)):
            with peak_of(small.api.process.pid) as peak:
                status_of(client, "POST", path, content=body, headers={"Content-Type": media_type})
            assert peak[0] < BOUND, f"{media_type} to {path}: {body[:60]!r}, {peak[0] / MB:.0f} MiB"
            grown = max(grown, peak[0])
    record(
        "bodies that unfold, in each media type, sound and wrong",
        f"{FACTOR} x `MELM_MAX_BYTES_IN_FLIGHT` (of which one tenant has half): {BOUND / MB:.0f} MiB",
        f"{grown / MB:.0f} MiB",
    )


def test_many_bodies_that_never_end(small: Attacked, record: Record) -> None:
    """As many as would take many times the bound; who has the rest of it is served."""
    n, n_bytes = 40, 8 * MB
    address = urlsplit(small.api.url)
    head = (
        f"POST /v1/datasets HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {MALLORY}\r\n"
        f"Content-Type: {NPZ}\r\nContent-Length: {2 * n_bytes}\r\n\r\n"
    ).encode()
    refused = 0
    with peak_of(small.api.process.pid) as peak, ExitStack() as stack:
        opened = []
        for _ in range(n):
            connection = stack.enter_context(connected(small.api.url))
            connection.sendall(head + bytes(n_bytes))
            opened.append(connection)
        body = json.dumps({"X": [[5.0, 3.0, 4.0, 1.0]] * 20_000}).encode()
        with small.api.client(ADA) as client:
            answer = client.post(f"/v1/models/{small.model_id}/predict", content=body, headers={"Content-Type": JSON})
            assert answer.status_code == 200, answer.text
        for connection in opened:
            connection.sendall(bytes(n_bytes))  # whoever was refused is told so at the end of the body
        for connection in opened:
            connection.settimeout(60)
            refused += b"503" in connection.recv(1000)
    assert peak[0] < BOUND + FACTOR * LIMIT // 2
    assert refused > n // 2
    record(
        f"{n} bodies of {2 * n_bytes // MB} MiB that stop half-way",
        f"{BOUND / MB:.0f} MiB; the rest gets 503 with Retry-After",
        f"{peak[0] / MB:.0f} MiB; {refused} refused, another tenant served",
    )


def test_a_model_does_not_keep_more_than_the_cache_may(small: Attacked, record: Record) -> None:
    """Large predictions prepare grids that no file holds."""
    rng = np.random.default_rng(0)
    with small.api.client(MALLORY) as client:
        X = rng.standard_t(1, size=(4_000, 3)) * 5  # long tails make large grids
        y = np.arange(len(X)) % 4
        made = client.post("/v1/datasets", content=samples.npz(X=X, y=y), headers={"Content-Type": NPZ}).json()
        ask = {"dataset_id": made["id"], "method": "identity", "validation": None}
        models = [samples.fit(client, {**ask, "force": True})["model_id"] for _ in range(4)]
        body = samples.npy(X[:200].repeat(100, axis=0))
        with peak_of(small.api.process.pid) as peak:
            for model in models:
                status_of(client, "POST", f"/v1/models/{model}/predict", content=body, headers={"Content-Type": NPY})
    assert peak[0] < 16 * MB + BOUND
    record(
        "models whose grids are larger than their files",
        "`MELM_MODEL_CACHE_BYTES` weighs them",
        f"{peak[0] / MB:.0f} MiB",
    )


def test_what_a_dataset_says_of_itself_is_bounded(attacked: Attacked, record: Record) -> None:
    rows = {"X": [[1], [2], [3], [4]], "y": [0, 1, 0, 1]}
    with attacked.api.client(MALLORY) as client:
        for said in (
            {"name": "x" * MB},
            {"metadata": {f"key{i}": "value" for i in range(10_000)}},
            {"metadata": {"key": "x" * MB}},
            {"feature_names": ["x" * MB]},
            {"y": ["x" * MB, "b", "x" * MB, "b"]},
        ):
            assert status_of(client, "POST", "/v1/datasets", json={**rows, **said}) == 422
        wide = json.dumps(
            {"X": wide_rows(20_000), "y": [0, 1, 0, 1], "feature_names": [f"{i:0100}" for i in range(20_000)]}
        )
        for index in range(6):
            content = wide.replace("0.5", str(index), 1).encode()
            assert status_of(client, "POST", "/v1/datasets", content=content, headers={"Content-Type": JSON}) in (
                200,
                201,
            )
        page = client.get("/v1/datasets", params={"limit": 100})
        assert len(page.content) < 8 * MB
        assert page.json()["next_cursor"]
    record("a list of datasets with long names", "4 MiB a page", f"{len(page.content) / MB:.1f} MiB")


def wide_rows(n_columns: int) -> list[list[float]]:
    """Four rows that vary."""
    return [[0.5] * n_columns, [1.5] * n_columns, [2.5] * n_columns, [3.5] * n_columns]
