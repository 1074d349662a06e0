"""Forms: a file in any format, fields before and after it, whatever the pieces in which they arrive."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pytest
from starlette.datastructures import QueryParams

from melm.tables.files import EXCEL
from service.errors import Invalid, Malformed, RequestError
from service.intake.form import UploadForm
from tests.fuzz.bodies import parquet_of
from tests.service import samples
from tests.workbooks import workbook

TYPE = "multipart/form-data; boundary=line"
CONTENT = b"a,b,y\n1,2,u\n3,4,v\n"


def part(name: str, value: bytes, filename: str | None = None, content_type: str | None = None) -> bytes:
    described = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
    typed = f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"--line\r\nContent-Disposition: {described}\r\n{typed}\r\n".encode() + value + b"\r\n"


def body(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--line--\r\n"


def taken(content: bytes, size: int = 1 << 20) -> UploadForm:
    filled = UploadForm(TYPE)
    for begin in range(0, len(content), size):
        filled.take(content[begin : begin + size])
    filled.finish()
    return filled


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_fields_may_stand_on_both_sides_of_the_file(size: int) -> None:
    parts = (
        part("target", b"y"),
        part("file", CONTENT, "x.csv"),
        part("missing_values", b"-"),
        part("missing_values", b""),
    )
    filled = taken(body(*parts), size)
    options = filled.options(QueryParams("delimiter=,&target=z&other=1")).read_options()
    assert (options.target, options.delimiter, options.missing_values) == ("y", ",", ("-", ""))
    assert filled.content.finish()[:, 0].tobytes() == CONTENT
    assert filled.codec.media_type == "text/csv"


SHEET = workbook({"a": [["x"], [1]]})
PARQUET = parquet_of(pa.table({"x": [1.0]}))


@pytest.mark.parametrize(
    ("content", "filename", "declared", "media_type"),
    [
        (CONTENT, "x.csv", "application/octet-stream", "text/csv"),
        (CONTENT, "", None, "text/csv"),
        (b'{"X": [[1]]}', "x.json", "application/octet-stream", "application/json"),
        (b'{"X": [[1]]}', "blob", "application/json; charset=utf-8", "application/json"),
        (PARQUET, "x.csv", "text/csv", "application/vnd.apache.parquet"),
        (SHEET, "größe.xlsx", "application/vnd.ms-excel", EXCEL.media_type),
        (samples.npz(X=np.eye(2)), "x.csv", None, "application/x-npz"),
    ],
    ids=["csv", "nothing said", "by name", "by type", "parquet", "excel", "npz"],
)
def test_the_format_is_found(content: bytes, filename: str, declared: str | None, media_type: str) -> None:
    assert taken(body(part("f", content, filename, declared))).codec.media_type == media_type


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no such thing",
        body(part("file", CONTENT, "x.csv"))[:-10],
        body(part("target", b"y")),
        body(part("file", CONTENT, "x"), part("file", CONTENT, "y")),
        body(*[part("a", b"")] * 201, part("file", CONTENT, "x")),
        body(part("a", bytes(2 << 20)), part("file", CONTENT, "x")),
        body(b"--line\r\n" + b"A: b\r\n" * 1000 + b"\r\n\r\n"),
        body(b"--line\r\n" + b"A" * 100_000 + b": b\r\n\r\n\r\n"),
    ],
)
def test_what_is_no_form_with_a_file_is_refused(content: bytes) -> None:
    with pytest.raises(RequestError):
        taken(content)


def test_a_boundary_is_needed() -> None:
    with pytest.raises(Malformed, match="boundary"):
        UploadForm("multipart/form-data")


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("missing", b"perhaps", "missing must be 'impute' or 'refuse'"),
        ("delimiter", b";;", "at most 1 characters"),
        ("targte", b"y", "not known"),
        ("dry_run", b"perhaps", "true or false"),
        ("columns", b"age", "not a JSON object"),
    ],
)
def test_fields_are_checked_as_the_query_is(field: str, value: bytes, word: str) -> None:
    filled = taken(body(part(field, value), part("file", CONTENT, "x.csv")))
    with pytest.raises(Invalid) as caught:
        filled.options(QueryParams()).read_options()
    assert word in caught.value.errors[0].detail
    assert caught.value.errors[0].pointer == f"/{field}"


def test_a_form_is_the_same_dataset_as_its_file(client: httpx2.Client, dataset_id: str) -> None:
    file = {"file": ("irises.csv", samples.irises_csv())}
    created = client.post("/v1/datasets", data={"target": "species"}, files=file)
    assert (created.status_code, created.json()["id"]) == (200, dataset_id), created.text
    reading = client.post("/v1/datasets", data={"target": "species", "dry_run": "true"}, files=file).json()
    assert (reading["media_type"], reading["n_rows"], reading["target"]["name"]) == ("text/csv", 150, "species")


def test_a_form_names_its_dataset_and_is_sent_twice_by_one_key(client: httpx2.Client) -> None:
    table = "".join(f"{index},{index % 3},{'uv'[index % 2]}\n" for index in range(20))
    file = {"file": ("x.csv", f"a,{uuid.uuid4().hex},y\n{table}")}
    fields: dict[str, Any] = {"target": "y", "name": "mine", "columns": json.dumps({"a": "numeric"})}
    key = {"Idempotency-Key": uuid.uuid4().hex}
    first, second = (client.post("/v1/datasets", data=fields, files=file, headers=key) for _ in range(2))
    assert (first.status_code, first.json()["name"]) == (201, "mine")
    assert second.json()["id"] == first.json()["id"]
    assert client.post("/v1/datasets", data=fields | {"name": "other"}, files=file, headers=key).status_code == 422


def test_a_page_of_another_site_cannot_send_one(client: httpx2.Client) -> None:
    refused = client.post(
        "/v1/datasets", files={"file": ("x.csv", CONTENT)}, headers={"Origin": "https://evil.example"}
    )
    assert refused.status_code == 403


def test_a_form_that_is_too_large_is_refused_while_it_arrives(client: httpx2.Client) -> None:
    body = json.dumps({"X": [[1.0]] * 1_700_000, "y": [1]}).encode()
    refused = client.post("/v1/datasets", files={"file": ("x.json", body)})
    assert refused.status_code == 413
