"""Formats are told apart by the first bytes of a file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from melm.tables.files import ARROW, CSV, EXCEL, HEAD_BYTES, NPY, NPZ, PARQUET, Format, format_of

BODIES = Path(__file__).parents[2] / "fixtures" / "v0_1" / "bodies"


@pytest.mark.parametrize(
    ("name", "format"),
    [("plain.csv", CSV), ("irises_in_Arrow.arrow", ARROW), ("irises_in_Parquet.parquet", PARQUET)],
)
def test_files(name: str, format: Format) -> None:
    assert format_of((BODIES / name).read_bytes()[:HEAD_BYTES]) is format


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_arrays_are_no_workbooks(save: object) -> None:
    stream = io.BytesIO()
    save(stream, X=np.eye(2))  # type: ignore[operator]
    assert format_of(stream.getvalue()) is NPZ
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert format_of(stream.getvalue()) is EXCEL


def test_the_rest() -> None:
    stream = io.BytesIO()
    np.save(stream, np.eye(2))
    assert format_of(stream.getvalue()) is NPY
    assert format_of(b"") is CSV
    assert format_of(b"PK\x03\x04") is EXCEL
