"""What codecs read and write: matrices with labels, and responses of named arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.tables.problem import place_of
from melm.typing import AnyArray, Matrix
from service.errors import FieldError, Invalid, escape, grouped
from service.intake.memory import hold

Content: TypeAlias = bytes | memoryview  # a body in memory, or mapped
Labels: TypeAlias = Sequence[str | int | float | bool]

SPILL_BYTES = 16 << 20  # larger tables and bodies are kept in unnamed temporary files, which are memory-mapped
MAX_LABEL_LENGTH = 1_000  # NumPy gives each label as much space as the longest one needs
LABEL_KINDS = "labels are text, whole numbers, numbers or booleans"


@dataclass(frozen=True)
class Limits:
    """How large a decoded body may be."""

    bytes: int
    rows: int
    columns: int
    are_for_own_files: bool = False  # trusted files, which need no sandbox
    sparse_columns: int = 1_000_000

    @property
    def cells(self) -> int:
        """The largest number of cells. As float64 they take four times the bytes of a body, as short CSV cells do."""
        return self.bytes * 4 // 8


@dataclass(frozen=True)
class Matrices:
    """Rows of numbers, with labels and column names where the body has them."""

    X: Matrix  # (n, d) float64 or float32; sparse as CSR
    y: AnyArray | None = None  # (n,)
    feature_names: tuple[str, ...] | None = None
    fields: dict[str, Any] = field(default_factory=dict)  # what else a JSON body says: name, metadata


@dataclass(frozen=True)
class NamedArrays:
    """Named arrays, of which the first is the result."""

    arrays: dict[str, AnyArray]
    columns: tuple[str, ...]  # names for the columns of all row-wise arrays, side by side
    model_id: str
    warnings: tuple[str, ...] = ()
    is_raw: bool = False  # text in CSV is not escaped, even if a spreadsheet would interpret it as a formula

    @property
    def main(self) -> AnyArray:
        """The result."""
        return next(iter(self.arrays.values()))

    def row_wise(self) -> list[AnyArray]:
        """The columns of a table with one row per input row."""
        n_rows = len(self.main)
        blocks = [array.reshape(n_rows, -1) for name, array in self.arrays.items() if name != "classes"]
        return [block[:, index] for block in blocks for index in range(block.shape[1])]


@dataclass(frozen=True)
class Codec:
    """Writes one media type, and reads it where it holds matrices. Tables are read by `service.intake.cells`."""

    media_type: str
    encode: Callable[[NamedArrays], bytes]
    decode: Callable[[Content, Limits], Matrices] | None = None

    def read_matrix(self, body: Content, limits: Limits) -> Matrices:
        """The matrix in a body."""
        if self.decode is None:
            raise TypeError(f"{self.media_type} holds tables")
        return self.decode(body, limits)


def check_size(n_rows: int, n_columns: int, limits: Limits, n_stored: int | None = None) -> None:
    """Refuse a table beyond the limits before memory for it is allocated; a sparse one has `n_stored` cells."""
    max_columns, n_cells = limits.columns, n_rows * n_columns
    if n_stored is not None:
        max_columns, n_cells = limits.sparse_columns, n_stored
    errors = [
        FieldError("", f"{size} {noun} are more than the limit of {limit}", f"send at most {limit} {noun}")
        for size, noun, limit in (
            (n_rows, "rows", limits.rows),
            (n_columns, "columns", max_columns),
            (n_cells, "cells", limits.cells),
        )
        if size > limit
    ]
    if errors:
        raise Invalid(errors)


def as_features(X: AnyArray, limits: Limits, pointer: str = "/X") -> AnyArray:
    """Numbers as float32 or float64 in C order and native byte order; copied only if needed."""
    if X.ndim != 2:
        raise Invalid([FieldError(pointer, f"has {X.ndim} dimensions, not 2", "send rows by columns")])
    check_size(X.shape[0], X.shape[1], limits)
    if X.dtype.kind not in "fiub":
        raise Invalid([FieldError(pointer, f"holds {X.dtype} values, not numbers", "encode text columns as numbers")])
    return np.ascontiguousarray(X, dtype=np.float32 if X.dtype.newbyteorder("=") == np.float32 else np.float64)


def as_labels(y: AnyArray, pointer: str = "/y") -> AnyArray:
    """A label array of one of the four types that the library accepts."""
    if y.ndim != 1:
        raise Invalid([FieldError(pointer, f"has {y.ndim} dimensions, not 1", "send one label per row")])
    if y.dtype.kind not in "Ufiub":
        raise Invalid([FieldError(pointer, f"holds {y.dtype} values", LABEL_KINDS)])
    if y.dtype.kind == "u" and y.size and int(y.max()) >= 2**63:
        raise Invalid([FieldError(pointer, "a label does not fit 64 bits", "send it as text")])
    if y.dtype.kind == "U":
        check_length(int(np.strings.str_len(y).max(initial=0)), pointer)
        hold(y.nbytes)  # to find the classes all of it is read into memory; until now it may be in a file
    kinds: dict[str, npt.DTypeLike] = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
    return np.ascontiguousarray(y, dtype=kinds.get(y.dtype.kind))


def labels_of(values: Labels, pointer: str = "/y") -> AnyArray:
    """An array of labels. All must be of one type, except that integers and floats may be mixed."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        if any(not -(2**63) <= value < 2**63 for value in values if isinstance(value, int)):
            raise Invalid([FieldError(pointer, "a label does not fit 64 bits", "send it as text")])
        return np.asarray(values, dtype=np.int64)
    if kinds == {str}:
        longest = max(map(len, map(str, values)))
        check_length(longest, pointer)
        hold(4 * len(values) * longest)
        return np.asarray(values, dtype=np.str_)
    if kinds == {bool}:
        return np.asarray(values, dtype=np.bool_)
    if kinds <= {int, float}:
        return np.asarray(values, dtype=np.float64)
    names = ", ".join(sorted({str: "text", bool: "booleans", int: "numbers", float: "numbers"}[kind] for kind in kinds))
    raise Invalid([FieldError(pointer, f"labels mix {names}", "send labels of one kind")])


def check_length(longest: int, pointer: str) -> None:
    """Refuse labels that are too long."""
    if longest > MAX_LABEL_LENGTH:
        detail = f"a label has {longest} characters, which is more than the limit of {MAX_LABEL_LENGTH}"
        raise Invalid([FieldError(pointer, detail)])


def cell_errors(cells: Iterable[tuple[int, int | str, str, str]], pointer: str, fix: str) -> list[FieldError]:
    """One error for all cells of a column with the same error. A cell is given as row, column, value and error."""
    return grouped(
        (
            (column, wrong),
            FieldError(
                f"{pointer}/{row}/{escape(str(column))}", f"{place_of(row)}, column {column!r}: {cell} {wrong}", fix
            ),
        )
        for row, column, cell, wrong in cells
    )
