"""CSV: a header row, commas, UTF-8; read row by row into packed floats."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Iterator

import numpy as np

from service.codecs.table import Answer, Array, Codec, Limits, Table, cell_errors, check_size, labels_of
from service.errors import FieldError, Invalid, Malformed


def decode(body: bytes, limits: Limits, target: str | None = None) -> Table:
    """A table whose columns are named by the header; `target` names the column of labels."""
    try:
        rows = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        names = next(rows, [])
        check_header(names, target, limits)
        label_index = None if target is None else names.index(target)
        return read_rows(rows, names, label_index, limits)
    except UnicodeDecodeError as error:
        raise Malformed(f"the CSV is not UTF-8: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise Malformed(f"the CSV cannot be parsed: {error}") from None


def check_header(names: list[str], target: str | None, limits: Limits) -> None:
    """Refuse a header without usable names."""
    check_size(0, len(names), limits)
    errors = []
    if not names or names == [""]:
        errors.append(FieldError("", "the CSV is empty", "send a header row, then one line a row"))
    elif len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        detail = f"columns are named twice: {', '.join(twice)}"
        errors.append(FieldError("", detail, "give every column a name of its own"))
    if target is not None and target not in names:
        errors.append(FieldError("", f"there is no column {target!r}", f"columns: {', '.join(names[:50])}"))
    if errors:
        raise Invalid(errors)


def read_rows(rows: Iterator[list[str]], names: list[str], label_index: int | None, limits: Limits) -> Table:
    """All rows after the header; everything that is wrong with them is reported together."""
    values = array("d")
    labels: list[str] = []
    ragged: list[FieldError] = []
    wrong: list[tuple[int, int, str]] = []
    n_rows = 0
    for index, row in enumerate(row for row in rows if row):
        n_rows = index + 1
        check_size(n_rows, len(names), limits)
        if len(row) != len(names):
            ragged.append(FieldError(f"/{index}", f"row {index} has {len(row)} values, the header has {len(names)}"))
            continue
        if label_index is not None:
            labels.append(row.pop(label_index))
        try:
            values.extend(map(float, row))
        except ValueError:
            wrong += [(index, column, detail) for column, cell in enumerate(row) if (detail := wrong_cell(cell))]
    errors = ragged[:100] + cell_errors(wrong, "", "send a number; encode text columns as numbers")
    if errors:
        raise Invalid(errors)
    features = [name for index, name in enumerate(names) if index != label_index]
    X = np.frombuffer(values, np.float64).reshape(n_rows, len(features))
    y = None if label_index is None else labels_of(typed(labels))
    return Table(X, y, tuple(features))


def wrong_cell(cell: str) -> str | None:
    """What is wrong with a cell that should be a number."""
    try:
        float(cell)
    except ValueError:
        return f"{cell[:40]!r} is not a number" if cell.strip() else "the value is missing"
    return None


def typed(labels: list[str]) -> list[int] | list[str]:
    """Whole numbers where every label is written as one ("007" is not); text otherwise, for CSV knows no types."""
    if all(label.removeprefix("-").isdecimal() and label.isascii() and len(label) < 19 for label in labels):
        numbers = list(map(int, labels))
        if list(map(str, numbers)) == labels:
            return numbers
    return labels


def encode(answer: Answer) -> bytes:
    """The answer row by row under a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(answer.columns)
    writer.writerows(zip(*map(to_cells, answer.row_wise()), strict=True))
    return text.getvalue().encode()


def to_cells(column: Array) -> list[object]:
    """Python values, whose text form reads back to the same number."""
    convert: Callable[[], list[object]] = column.tolist
    return convert()


CSV = Codec("text/csv", decode, encode)
