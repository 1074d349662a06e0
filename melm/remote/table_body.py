"""Tables as request bodies: files and bytes unchanged, data frames as Arrow, lists of dicts as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.remote.arrays import as_labels, names_of
from melm.tables.files import ARROW, HEAD_BYTES, JSON, format_of
from melm.tables.sparse import SparseMatrix
from melm.typing import AnyArray

PIECE_BYTES = 1 << 20
NUMBERS = (bool, int, float, np.number, np.bool_)

RowsLike: TypeAlias = npt.ArrayLike | SparseMatrix | PathLike[str] | Sequence[Mapping[str, Any]]


class FilePieces:
    """The bytes of a file, which is streamed; a retry reads it from the beginning."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece


@dataclass(frozen=True)
class TableBody:
    """A request body with its media type."""

    content: bytes | FilePieces
    media_type: str
    n_bytes: int | None = None  # of a file, for Content-Length
    target: str | None = None  # the column of the labels, if they were given separately
    columns: Mapping[str, str] = field(default_factory=dict)  # roles that follow from the types of a data frame

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the body."""
        length = {} if self.n_bytes is None else {"Content-Length": str(self.n_bytes)}
        return {"Content-Type": self.media_type, **length}


def table_body(rows: object, y: npt.ArrayLike | None = None) -> TableBody | None:
    """The body of a table: the path of a file, its bytes, a list of dicts, or a data frame that is not a matrix.

    Returns None for a matrix. The labels of a file are in one of its columns; those of rows may be `y`.
    """
    if isinstance(rows, bytes | str | PathLike):
        if y is not None:
            raise ValueError("The labels of a file are in one of its columns: name it by target instead of giving y.")
        return file_body(rows)
    if isinstance(rows, Sequence) and len(rows) and all(isinstance(row, Mapping) for row in rows):
        return rows_body(rows, y)
    if names_of(rows) is not None and not is_matrix(rows):
        return frame_body(rows, y)
    return None


def frame_body(frame: Any, y: npt.ArrayLike | None = None) -> TableBody:
    """A data frame of pandas, polars or Arrow, with its labels in a column of their own.

    It goes as JSON where pyarrow is not installed, where a column mixes types that Arrow keeps apart, and where labels
    are booleans or numbers with decimals, which a column of Arrow does not give back as they are.
    """
    from narwhals.stable.v2 import Categorical, Enum, from_native, maybe_reset_index

    labels = None if y is None else as_labels(y)
    found = maybe_reset_index(from_native(frame, eager_only=True))  # the index of pandas would become a column
    columns = {name: "categorical" for name, kind in found.schema.items() if kind in (Categorical, Enum)}
    if labels is None or labels.dtype.kind in "iU":
        try:
            return arrow_body(found, labels, columns)
        except NoArrow:
            pass
    return replace(rows_body(records_of(frame), labels), columns=columns)


class NoArrow(Exception):
    """A data frame that cannot be written as Arrow here."""


def arrow_body(frame: Any, labels: AnyArray | None, columns: Mapping[str, str]) -> TableBody:
    """A narwhals frame as an Arrow stream."""
    try:
        import pyarrow as pa

        table = frame.to_arrow()
    except ModuleNotFoundError as error:
        raise NoArrow from error
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise NoArrow from error
    target = None
    if labels is not None:
        if len(labels) != len(table):
            raise ValueError(f"There are {len(labels)} labels for {len(table)} rows.")
        target = free_name(table.column_names)
        table = table.append_column(target, pa.array(labels.tolist()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return TableBody(sink.getvalue().to_pybytes(), ARROW.media_type, target=target, columns=columns)


def free_name(taken: Sequence[str]) -> str:
    """An unused name for the column of labels."""
    name = "y"
    while name in taken:
        name += "_"
    return name


def rows_body(rows: Iterable[Mapping[str, Any]], y: npt.ArrayLike | None) -> TableBody:
    """A list of dicts."""
    document: dict[str, Any] = {"rows": [{name: plain(cell) for name, cell in row.items()} for row in rows]}
    if y is not None:
        document["y"] = as_labels(y).tolist()
    return TableBody(json.dumps(document, allow_nan=False).encode(), JSON.media_type)


def file_body(file: str | PathLike[str] | bytes) -> TableBody:
    """A file, by its bytes or by its path, from which it is streamed."""
    if isinstance(file, bytes):
        return TableBody(file, format_of(file[:HEAD_BYTES]).media_type)
    path = Path(file)
    with path.open("rb") as opened:
        media_type = format_of(opened.read(HEAD_BYTES)).media_type
    return TableBody(FilePieces(path), media_type, path.stat().st_size)


def is_matrix(frame: object) -> bool:
    """Whether a data frame has only numbers and no missing values."""
    values = np.asarray(frame)  # works for Arrow tables, too
    if values.dtype.kind == "O" and all(isinstance(cell, NUMBERS) for cell in values.flat):
        values = values.astype(np.float64)
    return values.dtype.kind in "fiub" and not (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def records_of(frame: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of a data frame as dicts, with None for missing values."""
    for method in ("to_dicts", "to_pylist"):  # of polars, of Arrow
        if hasattr(frame, method):
            return getattr(frame, method)()  # type: ignore[no-any-return]
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[no-any-return]


def plain(cell: Any) -> Any:
    """A value for JSON: NumPy values as Python values, times as ISO 8601, NaN as null."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, date | time | datetime):
        return value.isoformat()
    return None if isinstance(value, float) and math.isnan(value) else value
