"""What is sent for a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from melm.remote.table_body import FilePieces, table_body
from melm.tables.files import ARROW, CSV, JSON, NPZ, PARQUET, Format


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"a;b\r\n1;2\r\n", CSV),
        (b"PAR1...", PARQUET),
        (b"PK\x03\x04" + bytes(22) + b"\x05\x00\x00\x00X.npy", NPZ),
        (b"\xff\xff\xff\xff...", ARROW),
        (b"", CSV),
    ],
)
def test_files_and_bytes_go_as_they_are(tmp_path: Path, content: bytes, format: Format) -> None:
    of_bytes = table_body(content)
    assert of_bytes is not None
    assert (of_bytes.content, of_bytes.media_type) == (content, format.media_type)
    path = tmp_path / "table"
    path.write_bytes(content)
    for given in (path, str(path)):
        of_file = table_body(given)
        assert of_file is not None
        assert of_file.media_type == format.media_type
        assert of_file.headers["Content-Length"] == str(len(content))
        assert isinstance(of_file.content, FilePieces)
        for _ in range(2):  # a request that is sent again begins again
            assert b"".join(of_file.content) == content


def sent(rows: object, y: object = None) -> object:
    """The JSON document of rows."""
    body = table_body(rows, y)  # type: ignore[arg-type]
    assert body is not None
    assert body.media_type == JSON.media_type
    assert isinstance(body.content, bytes)
    return json.loads(body.content)


def test_rows_by_name_are_json() -> None:
    rows = [{"a": np.float64(1.5), "b": "x"}, {"a": float("nan"), "b": None}]
    expected = {"rows": [{"a": 1.5, "b": "x"}, {"a": None, "b": None}]}
    assert sent(rows) == expected
    assert sent(rows, np.array([True, False])) == {**expected, "y": [True, False]}


def test_the_labels_of_a_file_are_in_the_file() -> None:
    with pytest.raises(ValueError, match="target"):
        table_body(b"a,y", [1, 2])


def test_matrices_are_no_tables() -> None:
    mixed = pd.DataFrame({"a": [1.5, 2.5], "b": [True, False]})
    for X in (np.eye(2), [[1.0, 2.0]], pd.DataFrame(np.eye(2), columns=["a", "b"]), mixed, []):
        assert table_body(X) is None
