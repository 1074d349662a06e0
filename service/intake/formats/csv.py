"""CSV; the dialect is detected."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

import melm.tables.table
from melm.tables.csv_table import CsvReader
from melm.tables.dialect import sniff
from melm.tables.files import DRY_RUN_BYTES
from melm.tables.options import ReadOptions
from melm.tables.problem import Problem, place_of
from melm.tables.reading import Reading, read_roles
from melm.tables.transcoding import CsvEncodingError, CsvError
from melm.typing import AnyArray
from service.errors import MAX_PLACE, FieldError, Invalid, Malformed, escape
from service.intake.formats.table import SPILL_BYTES, Codec, Content, Limits, NamedArrays, check_size
from service.intake.memory import COLUMN_BYTES, DISTINCT_BYTES, ROW_BYTES, hold

PIECE_BYTES = 1 << 20
SNIFFED = 100_000  # characters
DELIMITERS = (b",", b";", b"\t", b"|")
ROW = re.compile(r"row index (\d+)")
FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


class TableReader:
    """Parses CSV piece by piece, within the limits."""

    def __init__(self, limits: Limits, options: ReadOptions) -> None:
        self._limits = limits
        with explained():
            self._reader = admitted(options, limits)
        self._has_header = False

    def take(self, piece: bytes) -> None:
        """The next piece."""
        if not self._has_header:
            line, *rest = piece.lstrip(b"\r\n").splitlines()[:2] or [b""]
            hold(COLUMN_BYTES * max(map(line.count, DELIMITERS)))
            self._has_header = bool(rest)
        with explained():
            self._reader.feed(piece)
        check_size(self._reader.n_rows, len(self._reader.names), self._limits)

    def finish(self) -> melm.tables.table.Table:
        """Columns of numbers and of text, with missing values."""
        with explained():
            table = self._reader.finish()
        check_size(len(table), len(table.names), self._limits)
        return table


def admitted(options: ReadOptions, limits: Limits) -> CsvReader:
    """A reader that reserves memory for its rows and strings while it reads: a small body may have many."""
    n_held = 0

    def count() -> None:
        nonlocal n_held
        n_values, n_characters = reader.n_texts
        n_bytes = ROW_BYTES * (reader.n_rows + reader.n_ragged) + DISTINCT_BYTES * n_values + n_characters
        hold(n_bytes - n_held)
        n_held = n_bytes

    reader = CsvReader(options, SPILL_BYTES, limits.columns, count)
    return reader


@contextmanager
def explained() -> Iterator[None]:
    """Translate the errors of the CSV reader into those of the service."""
    try:
        yield
    except CsvEncodingError as error:
        raise Malformed(f"{error}; set {error.problems[0].fix}") from None
    except CsvError as error:
        raise Invalid(map(as_field_error, error.problems)) from None


def read_table(body: Content, limits: Limits, options: ReadOptions) -> melm.tables.table.Table:
    """The table of a whole body."""
    reader = TableReader(limits, options)
    for begin in range(0, len(body), PIECE_BYTES):
        reader.take(bytes(body[begin : begin + PIECE_BYTES]))
    return reader.finish()


def inspect_csv(body: Content, limits: Limits, options: ReadOptions, is_complete: bool) -> Reading:
    """How a file would be read; or the beginning of a file, of which the last, incomplete line is left out."""
    problems: list[Problem] = []
    table = None
    try:
        reader = admitted(options, limits)
        end = len(body) if is_complete else bytes(body[:DRY_RUN_BYTES]).rfind(b"\n") + 1
        for begin in range(0, end, PIECE_BYTES):
            reader.feed(bytes(body[begin : min(begin + PIECE_BYTES, end)]))
            check_size(reader.n_rows, len(reader.names), limits)
        table = reader.finish_with_problems()
        problems += reader.problems
    except CsvError as error:
        return read_roles("text/csv", None, options, error.problems, is_complete=is_complete)
    return read_roles(
        "text/csv",
        table,
        options,
        problems,
        dialect=reader.dialect,
        encoding=reader.encoding,
        is_guessed=True,
        is_complete=is_complete,
    )


def as_field_error(problem: Problem) -> FieldError:
    """A problem of a file as an error at its first row and its column."""
    part = problem.column if problem.member is None else problem.member
    pointer = "" if part is None else f"/{escape(part)}"
    places = tuple(f"/{row}{pointer}"[:MAX_PLACE] for row in problem.rows) or (pointer,)
    error = FieldError(places[0], str(problem), problem.advice, lines=problem.lines or None, fixes=problem.fixes)
    if problem.count == 1:
        return error
    detail = f"{problem} (and {problem.count - 1} more like this)"
    return replace(error, detail=detail, count=problem.count, places=places)


def with_lines(errors: Iterable[FieldError], content: Content, options: ReadOptions) -> list[FieldError]:
    """Errors of rows, with line numbers. These differ because rows may contain line breaks, and lines may be empty."""
    errors = list(errors)
    wanted = {int(found[1]) for error in errors if (found := ROW.match(error.detail))}
    if not wanted:
        return errors
    text = io.TextIOWrapper(io.BytesIO(content), options.encoding or "utf-8-sig", "replace", newline="")
    delimiter = sniff(text.read(SNIFFED), options.delimiter).delimiter
    text.seek(0)
    reader = csv.reader(text, delimiter=delimiter)
    last, lines, line, row = max(wanted), {}, 1, -1  # the header is row -1
    with suppress(csv.Error):
        for cells in reader:
            if cells:
                if row in wanted:
                    lines[row] = line
                if row == last:
                    break
                row += 1
            line = reader.line_num + 1
    return [_with_line(error, lines) for error in errors]


def _with_line(error: FieldError, lines: Mapping[int, int]) -> FieldError:
    found = ROW.match(error.detail)
    if found is None or int(found[1]) not in lines:
        return error
    row = int(found[1])
    detail = error.detail.replace(found[0], place_of(row, lines[row]), 1)
    return replace(error, detail=detail, lines=(lines[row],))


def encode(answer: NamedArrays) -> bytes:
    """The response as CSV with a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    columns = [to_cells(column) for column in answer.row_wise()]
    if answer.is_raw:
        header = list(answer.columns)
    else:
        header = [name if is_number(name) else as_text(name) for name in answer.columns]
        columns = [[as_text(cell) if isinstance(cell, str) else cell for cell in column] for column in columns]
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def to_cells(column: AnyArray) -> list[object]:
    """Python values, whose text parses to the same number (round trip)."""
    convert: Callable[[], list[object]] = column.tolist
    return convert()


def as_text(cell: str) -> str:
    """A cell that no spreadsheet interprets as a formula: it is prefixed by an apostrophe."""
    return f"'{cell}" if cell.startswith(FORMULA_BEGINNINGS) else cell


def is_number(cell: str) -> bool:
    """Whether a column is named by a class that is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


CSV = Codec("text/csv", encode)
