"""What is sent for a table."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest

from melm.remote.arrays import NPZ
from melm.remote.table_body import ARROW, CSV, JSON, PARQUET, FilePieces, table_body


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"a;b\r\n1;2\r\n", CSV),
        (b"PAR1...", PARQUET),
        (b"PK\x03\x04...", NPZ),
        (b"\xff\xff\xff\xff...", ARROW),
        (b"", CSV),
    ],
)
def test_files_and_bytes_go_as_they_are(tmp_path: Path, content: bytes, media_type: str) -> None:
    of_bytes = table_body(content)
    assert of_bytes is not None
    assert (of_bytes.content, of_bytes.media_type) == (content, media_type)
    path = tmp_path / "table"
    path.write_bytes(content)
    for given in (path, str(path)):
        of_file = table_body(given)
        assert of_file is not None
        assert of_file.media_type == media_type
        assert of_file.headers["Content-Length"] == str(len(content))
        assert isinstance(of_file.content, FilePieces)
        for _ in range(2):  # a request that is sent again begins again
            assert b"".join(of_file.content) == content


def test_rows_by_name_are_json() -> None:
    body = table_body([{"a": np.float64(1.5), "b": "x"}, {"a": float("nan"), "b": None}])
    assert body is not None
    assert body.media_type == JSON
    assert isinstance(body.content, bytes)
    assert json.loads(body.content) == {"rows": [{"a": 1.5, "b": "x"}, {"a": None, "b": None}]}


def test_frames_with_text_or_gaps_are_arrow() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "NA"]}, index=[7, 3])
    body = table_body(frame)
    assert body is not None
    assert body.media_type == ARROW
    assert isinstance(body.content, bytes)
    table = pa.ipc.open_stream(io.BytesIO(body.content)).read_all()
    assert table.to_pydict() == {"a": [1.0, None], "b": ["x", "NA"]}


def test_matrices_are_no_tables() -> None:
    for X in (np.eye(2), [[1.0, 2.0]], pd.DataFrame(np.eye(2), columns=["a", "b"]), []):
        assert table_body(X) is None
