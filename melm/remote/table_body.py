"""Tables on their way: files and bytes as they are; rows by name, and data frames with text or gaps, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.remote.arrays import as_labels, names_of
from melm.tables.files import HEAD_BYTES, JSON, format_of
from melm.tables.sparse import SparseMatrix

PIECE_BYTES = 1 << 20
NUMBERS = (bool, int, float, np.number, np.bool_)

Rows: TypeAlias = npt.ArrayLike | SparseMatrix | PathLike[str] | Sequence[Mapping[str, Any]]


class FilePieces:
    """The bytes of a file, read as they are sent, and from the beginning again where they are sent again."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece


@dataclass(frozen=True)
class TableBody:
    """What is sent, and what it is."""

    content: bytes | FilePieces
    media_type: str
    n_bytes: int | None = None  # of a file, so that it need not be sent in chunks

    @property
    def headers(self) -> dict[str, str]:
        """What is said of the body ahead of it."""
        length = {} if self.n_bytes is None else {"Content-Length": str(self.n_bytes)}
        return {"Content-Type": self.media_type, **length}


def table_body(rows: object, y: npt.ArrayLike | None = None) -> TableBody | None:
    """The body of what is a table: a file's path, its bytes, rows by name, or a data frame with text or gaps.

    None for everything that is a matrix. The labels of a file are in one of its columns, those of rows may be `y`.
    """
    if isinstance(rows, bytes | str | PathLike):
        if y is not None:
            raise ValueError("The labels of a file are in one of its columns: name it by target instead of giving y.")
        return file_body(rows)
    if isinstance(rows, Sequence) and len(rows) and all(isinstance(row, Mapping) for row in rows):
        return rows_body(rows, y)
    if names_of(rows) is not None and not is_matrix(rows):
        return rows_body(records_of(rows), y)
    return None


def rows_body(rows: Iterable[Mapping[str, Any]], y: npt.ArrayLike | None) -> TableBody:
    """Rows by name."""
    document: dict[str, Any] = {"rows": [{name: plain(cell) for name, cell in row.items()} for row in rows]}
    if y is not None:
        document["y"] = as_labels(y).tolist()
    return TableBody(json.dumps(document, allow_nan=False).encode(), JSON.media_type)


def file_body(file: str | PathLike[str] | bytes) -> TableBody:
    """A file by its bytes, or by its path: then it is read while it is sent."""
    if isinstance(file, bytes):
        return TableBody(file, format_of(file[:HEAD_BYTES]).media_type)
    path = Path(file)
    with path.open("rb") as opened:
        media_type = format_of(opened.read(HEAD_BYTES)).media_type
    return TableBody(FilePieces(path), media_type, path.stat().st_size)


def is_matrix(frame: object) -> bool:
    """Whether a data frame holds numbers only, and one in every cell."""
    values = np.asarray(frame)
    if values.dtype.kind == "O" and all(isinstance(cell, NUMBERS) for cell in values.flat):
        values = values.astype(np.float64)
    return values.dtype.kind in "fiub" and not (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def records_of(frame: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of a data frame of polars or pandas by name, None where there are gaps."""
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()  # type: ignore[no-any-return]
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[no-any-return]


def plain(cell: Any) -> Any:
    """A cell as JSON knows it: NumPy's values as Python's, and NaN, which is how many programs write a gap, as null."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and math.isnan(value) else value
