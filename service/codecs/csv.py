"""CSV, in the dialect that it is found in."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import melm.table
from melm.csv_table import CsvEncodingError, CsvError, CsvOptions, CsvReader, Problem
from melm.roles import Role, RolesError, labels_of
from service.codecs.table import SHOWN_ERRORS, Answer, Array, Codec, Limits, Table, as_features, check_size
from service.errors import FieldError, Invalid, Malformed, escape

PIECE_BYTES = 1 << 20


def read_table(body: bytes, limits: Limits, options: CsvOptions) -> melm.table.Table:
    """Columns of numbers and of text, with gaps."""
    try:
        reader = CsvReader(options)
        for begin in range(0, len(body), PIECE_BYTES):
            reader.feed(body[begin : begin + PIECE_BYTES])
            check_size(reader.n_rows, len(reader.names), limits)
        table = reader.finish()
    except CsvEncodingError as error:
        raise Malformed(f"{error}; set {error.problems[0].fix}") from None
    except CsvError as error:
        raise Invalid(map(as_field_error, error.problems)) from None
    check_size(len(table), len(table.names), limits)
    return table


def as_field_error(problem: Problem) -> FieldError:
    """A problem of a file, at the row and the column."""
    place = [str(part) for part in (problem.row, problem.column) if part is not None]
    return FieldError("".join(f"/{escape(part)}" for part in place), str(problem), problem.fix)


def decode(body: bytes, limits: Limits, target: str | None = None) -> Table:
    """A matrix whose columns are named by the header; `target` names the column of labels."""
    found = read_table(body, limits, CsvOptions(others=Role.NUMERIC, target=target))
    errors = [
        FieldError(f"/{row}/{escape(name)}", f"row {row}, column {name!r}: the value is missing", "fill it in")
        for name in found.names
        for row in found.is_missing(name).nonzero()[0][:SHOWN_ERRORS].tolist()
    ]
    if errors:
        raise Invalid(errors[:SHOWN_ERRORS])
    try:
        labels = None if target is None else labels_of(found, target)
    except RolesError as error:
        raise Invalid([FieldError("/y", str(error))]) from None
    return Table(as_features(found.numbers, limits), labels, found.number_names)


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
