"""A streaming CSV reader: blocks of whole lines go through Arrow's parser as they arrive.

The first rows decide which columns are numeric. If a numeric column has a cell that is not a number, its block is
parsed again as text, so that the cell can be shown.
"""

from __future__ import annotations

import csv
import io
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from melm.tables.csv_column import Numbers, Text, any_match
from melm.tables.dialect import DELIMITERS, Dialect, sniff
from melm.tables.marks import GROUPS, OTHER, SIGNS, Marks, is_open
from melm.tables.options import ENCODINGS, ReadOptions
from melm.tables.problem import Fix, Problem, Problems, Severity
from melm.tables.roles import ID_NAME, Role, by_name, near_name
from melm.tables.stack import Stack
from melm.tables.table import Codes, Table
from melm.tables.transcoding import CsvEncodingError, CsvError, Transcoder
from melm.typing import Array

MISSING_VALUES = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", "?", "-", "--", "—"),
    *("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
)
BLOCK_BYTES = 2 << 20
PIECE_BYTES = BLOCK_BYTES // 2  # parsed by Arrow at once: fastest if it fits the processor's cache
HEAD_BYTES = BLOCK_BYTES // 2  # the header must lie in it
SAMPLE_BYTES = BLOCK_BYTES // 4  # of the first rows, which decide what the columns hold
LINE_BREAK = ord("\n")
MAX_BLOCK_BYTES = 32 * BLOCK_BYTES  # so that an unclosed quote does not turn the rest of the file into one block
MOSTLY_NUMBERS = 0.8  # of the values in the sample: other cells of such a column are reported as mistakes
LEADING_ZERO = r"^\s*[+-]?0[0-9]"  # zip codes, not numbers


def read_csv(chunks: Iterable[bytes], options: ReadOptions | None = None) -> Table:
    """Read the table of a file that comes in pieces."""
    reader = CsvReader(options)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


class CsvReader:
    """Reads a file piece by piece. Memory is bounded by the resulting table and a few blocks.

    Beyond `spill_bytes` the numbers and codes of the table are kept in memory-mapped temporary files.
    """

    def __init__(
        self,
        options: ReadOptions | None = None,
        spill_bytes: int | None = None,
        max_columns: int | None = None,
        on_rows: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_rows` is called whenever more rows have been read."""
        self._on_rows = on_rows
        self._options = options or ReadOptions()
        _check(self._options)
        self._spill_bytes = spill_bytes
        self._max_columns = max_columns
        self._is_begun = False
        self._roles: dict[str, str] = {}  # set by the caller, by column
        self._pending: list[bytes] = []
        self._n_pending = 0
        self._enough = BLOCK_BYTES
        self._dialect = Dialect()
        self._columns: dict[str, Numbers | Text] = {}
        self._numbers, self._codes = Stack(0), Stack(0)
        self.problems = Problems()
        self._transcoder = Transcoder(self._options.encoding, self.problems)
        self._kept_before = array("q")  # for each ragged row, how many rows were kept before it
        self._line_of: dict[int, int] = {}  # of rows with problems
        self._n_lines = 0  # before the next block
        self.n_rows = 0

    @property
    def dialect(self) -> Dialect:
        """The dialect; known once the header has been read."""
        return self._dialect

    @property
    def encoding(self) -> str:
        """The encoding by which the bytes were decoded."""
        return self._transcoder.encoding

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; known once the header has been read."""
        return tuple(self._columns)

    @property
    def n_ragged(self) -> int:
        """The number of ragged rows, which are not as long as the header."""
        return len(self._kept_before)

    @property
    def n_texts(self) -> tuple[int, int]:
        """The number of distinct texts in the columns so far, and of their characters."""
        texts = [column for column in self._columns.values() if isinstance(column, Text)]
        return sum(column.n_values for column in texts), sum(column.n_characters for column in texts)

    def feed(self, chunk: bytes) -> None:
        """Read the next piece of the file."""
        self._add(self._transcoder.feed(chunk))
        if self._n_pending >= self._enough:
            data = self._take_pending()
            end = _end_of_rows(data)
            if end:
                self._take(memoryview(data)[:end])
            self._add(data[end:])
            self._enough = max(BLOCK_BYTES, 2 * self._n_pending)  # do not search a long quoted cell at each piece

    def finish(self) -> Table:
        """End the file and return the table. Raises `CsvError` with all problems of the file."""
        table = self.finish_with_problems()
        if table is None or self.problems.has_errors:
            raise CsvError([problem for problem in self.problems if problem.level is Severity.ERROR])
        return table

    def finish_with_problems(self) -> Table | None:
        """End the file and return what can be read of the table, None without rows; `problems` lists what is wrong."""
        self._add(self._transcoder.feed(b"", final=True))
        rest = self._take_pending()
        if rest.strip() or not self._is_begun:
            self._take(memoryview(rest))
        if not self.n_rows:
            if not self.problems.has_errors:
                self.problems.add(Problem("the CSV has a header and no rows", advice="send one line a row"))
            return None
        table = self._make_table()
        self.problems.place(self._line_of)
        return table

    def _make_table(self) -> Table:
        """The table of all columns in their order, with codes into the sorted values of text."""
        numbers, codes = self._numbers.finish(), self._codes.finish()
        texts = {name: column for name, column in self._columns.items() if isinstance(column, Text)}
        after_all: dict[str, Array] = {}
        categories: dict[str, tuple[str, ...]] = {}
        for j, (name, column) in enumerate(texts.items()):
            values = column.as_numbers(codes[:, j], self._real_row, self.problems)
            if values is None:
                codes[:, j], categories[name] = column.sort(codes[:, j])
            else:
                after_all[name] = values
        number_names = tuple(name for name in self._columns if name not in texts)
        table = Table(
            self.names, number_names, numbers, tuple(texts), codes, tuple(categories.get(name, ()) for name in texts)
        )
        return table.with_columns(after_all) if after_all else table

    def _add(self, data: bytes) -> None:
        self._pending.append(data)
        self._n_pending += len(data)

    def _take_pending(self) -> bytes:
        data = b"".join(self._pending)
        self._pending, self._n_pending = [], 0
        return data

    def _real_row(self, row: int) -> int:
        """The index in the file of a row that was kept, counting the rows that were skipped."""
        return row + bisect_right(self._kept_before, row)

    def _take(self, rows: memoryview) -> None:
        if not self._is_begun:
            rows = self._begin(rows)
        if self._columns and not _is_blank(rows):
            n_found, first = self.problems.n_found, self.n_rows + len(self._kept_before)
            for cells in self._parse(rows).to_batches():
                self._keep(cells)
                self.n_rows += len(cells)
                self._on_rows()
            if self.problems.n_found > n_found:
                self._find_lines(rows, first)
                self._on_rows()  # ragged rows are in no batch
        self._n_lines += int(np.count_nonzero(np.frombuffer(rows, np.uint8) == LINE_BREAK))

    def _keep(self, cells: Any) -> None:
        """Convert rows to numbers and codes, and keep them."""
        numbers: list[Array] = []
        codes: list[Codes] = []
        for column, values in zip(self._columns.values(), cells.columns, strict=True):
            if isinstance(column, Numbers):
                numbers.append(column.take(values, self.n_rows, self._real_row, self.problems))
            else:
                codes.append(column.take(values))
        matrix = np.array(numbers).reshape(len(numbers), len(cells))
        if np.isinf(matrix).any():  # one check for all columns: checking each takes a tenth of the time of parsing
            self._complain_of_infinite(matrix)
        self._numbers.append(matrix.T)
        self._codes.append(np.array(codes, np.int32).reshape(len(codes), len(cells)).T)

    def _complain_of_infinite(self, matrix: Array) -> None:
        columns = [column for column in self._columns.values() if isinstance(column, Numbers)]
        for place, row in np.argwhere(np.isinf(matrix)).tolist():
            columns[place].complain(self._real_row(self.n_rows + row), str(matrix[place, row]), self.problems)

    def _find_lines(self, rows: memoryview, first: int) -> None:
        """Find the lines on which rows with problems begin. Rows may hold line breaks; empty lines are not rows.

        Where Python's reader and Arrow's disagree about the rows, no lines are given.
        """
        wanted = {row for problem in self.problems for row in problem.rows} - self._line_of.keys()
        reader = csv.reader(io.StringIO(str(rows, "utf-8", "replace"), newline=""), delimiter=self._dialect.delimiter)
        row, line = first, 1
        with suppress(csv.Error):
            for cells in reader:
                if cells:
                    if row in wanted:
                        self._line_of[row] = self._n_lines + line
                    row += 1
                line = reader.line_num + 1

    def _begin(self, block: memoryview) -> memoryview:
        """Find the dialect, read the header, and decide what each column holds. Returns the rows after the header."""
        self._is_begun = True
        try:
            text = bytes(block[:HEAD_BYTES]).decode("utf-8", "strict" if len(block) < HEAD_BYTES else "ignore")
        except UnicodeDecodeError as error:
            raise CsvEncodingError(f"utf-8: {error.reason} at byte {error.start}") from None
        self._dialect = sniff(text, self._options.delimiter, self._options.decimal)
        lines = io.StringIO(text, newline="")
        try:
            header = next(
                (row for row in csv.reader(_whole_lines(lines), delimiter=self._dialect.delimiter) if row), []
            )
        except csv.Error as error:
            raise CsvError([Problem(f"the header cannot be parsed: {error}")]) from None
        self._check_width(header)
        names = self._distinct([name.strip() or f"column {index + 1}" for index, name in enumerate(header)])
        self._check_names(names)
        rows = block[len(text[: lines.tell()].encode()) :]
        self._n_lines = bytes(block[: len(block) - len(rows)]).count(b"\n")
        self._columns = {name: Text(self._missing) for name in names}
        if not _is_blank(rows):
            end = len(rows) if len(rows) <= SAMPLE_BYTES else _end_of_rows(bytes(rows[:SAMPLE_BYTES])) or len(rows)
            problems, self.problems = self.problems, Problems()  # these rows are parsed again and reported then
            cells = self._parse(rows[:end])
            self.problems, self._kept_before = problems, array("q")
            self._columns = {
                name: self._kind_of(name, column.combine_chunks())
                for name, column in zip(names, cells.columns, strict=True)
            }
        for column in self._columns.values():
            if isinstance(column, Numbers):
                column.ask(self.problems)
        n_numbers = sum(isinstance(column, Numbers) for column in self._columns.values())
        self._numbers = Stack(n_numbers, np.float64, self._spill_bytes)
        self._codes = Stack(len(names) - n_numbers, np.int32, self._spill_bytes)
        return rows

    def _distinct(self, names: list[str]) -> list[str]:
        """Unique names: a second `a` becomes `a (2)`."""
        found: dict[str, None] = {}
        n_times: Counter[str] = Counter()
        for name in names:
            distinct = name
            while distinct in found:
                n_times[name] += 1
                distinct = f"{name} ({n_times[name] + 1})"
            if distinct != name:
                detail = f"the name {name!r} comes more than once: this column is called {distinct!r}"
                self.problems.add(Problem(detail, column=distinct, level=Severity.WARNING))
            found[distinct] = None
        return list(found)

    def _check_width(self, header: list[str]) -> None:
        if not header:
            raise CsvError([Problem("the CSV is empty", advice="send a header row, then one line a row")])
        if self._max_columns is not None and len(header) > self._max_columns:
            raise CsvError([Problem(f"{len(header)} columns are more than the limit of {self._max_columns}")])

    def _check_names(self, names: list[str]) -> None:
        self._roles = by_name(self._options.columns, names)
        wanted = [*self._roles, *([] if self._options.target is None else [self._options.target])]
        for name in dict.fromkeys(wanted):
            if name not in names:
                detail = f"there is no column {name!r}"
                near = near_name(name, names)
                advice = f"{near}columns: {', '.join(names[:50])}"
                self.problems.add(Problem(detail, () if near else (self._other_delimiter,), advice))

    @property
    def _other_delimiter(self) -> Fix:
        """The fix to suggest if a file may have another delimiter."""
        other = next(each for each in DELIMITERS if each != self._dialect.delimiter)
        return Fix("delimiter", other, f"where cells are not separated by {self._dialect.delimiter!r}")

    @property
    def _missing(self) -> frozenset[str]:
        return frozenset(MISSING_VALUES + self._options.missing_values)

    def _parse(self, block: memoryview) -> Any:
        """The cells of some rows as text, null where missing. Ragged rows are left out and reported."""
        ragged = array("q")  # two numbers for each row, its index and its cells: there may be a million in a block
        cells = self._parse_with(block, ragged)
        first = self.n_rows + len(self._kept_before)
        for number, n_cells in zip(ragged[::2], ragged[1::2], strict=True):
            index = first + number - 1
            detail = f"there are {n_cells} cells, the header has {len(self._columns)}"
            self._kept_before.append(index - len(self._kept_before))
            problem = Problem(detail, (self._other_delimiter,), "else mend the row", rows=(index,))
            self.problems.add(problem, kind="length")
        return cells

    def _parse_with(
        self,
        block: memoryview,
        ragged: array[int],
        as_text: bool = False,
        piece_bytes: int = PIECE_BYTES,
    ) -> Any:
        def note(row: Any) -> str:
            ragged.extend((row.number or 0, row.actual_columns))
            return "skip"

        kinds = {
            name: pa.float64() if isinstance(column, Numbers) and not column.is_marked and not as_text else pa.string()
            for name, column in self._columns.items()
        }
        try:
            return pa.csv.read_csv(
                pa.BufferReader(block),
                pa.csv.ReadOptions(column_names=list(kinds), use_threads=False, block_size=piece_bytes),
                pa.csv.ParseOptions(
                    delimiter=self._dialect.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                pa.csv.ConvertOptions(
                    column_types=kinds,
                    null_values=sorted(self._missing),
                    strings_can_be_null=True,
                    decimal_point=self._dialect.decimal,
                ),
            )
        except pa.ArrowInvalid as error:
            if piece_bytes <= len(block) and "straddling" in str(error):  # a row longer than a piece
                del ragged[:]
                return self._parse_with(block, ragged, as_text, len(block) + 1)
            if "UTF8" in str(error):
                raise CsvEncodingError("utf-8") from None
            if not as_text and pa.float64() in kinds.values():  # parse as text, to show cells that are not numbers
                del ragged[:]
                return self._parse_with(block, ragged, True, piece_bytes)
            raise CsvError([Problem(f"the CSV cannot be parsed: {str(error).splitlines()[0][:200]}")]) from None

    def _kind_of(self, name: str, cells: Any) -> Numbers | Text:
        """Whether a column is numbers or text, by its given role or by its first cells."""
        role = Role.TARGET if name == self._options.target else self._roles.get(name, self._options.others)
        numbers = self._numbers_of(name, cells)
        if role is not None and role != Role.INFO:
            return numbers if role == Role.NUMERIC else Text(self._missing)
        values, wrong = numbers.convert(cells)
        n_present = len(cells) - cells.null_count
        n_wrong = sum(not numbers.has_other_mark(cells[index].as_py()) for index in wrong)
        if n_present and (1 - n_wrong / n_present < MOSTLY_NUMBERS):
            return Text(self._missing)
        if any_match(cells, LEADING_ZERO):
            return Text(self._missing)
        found = values[np.isfinite(values)]
        is_whole = not wrong and len(found) > 0 and bool((found == np.floor(found)).all())
        if is_whole and (ID_NAME.search(name.lower()) or (len(found) > 1 and (np.diff(found) > 0).all())):
            return Text(self._missing, numbers)  # perhaps an id: keep its digits until all cells are read
        return numbers

    def _numbers_of(self, name: str, cells: Any) -> Numbers:
        """The number format of a column. Only numbers with marks that Arrow cannot parse are converted from text."""
        decimal = self._dialect.decimal
        other = OTHER[decimal]
        is_settled = self._dialect.marks.sure is not None or self._dialect.delimiter == ","
        telling = f"[0-9][{other}][0-9]|[{decimal}][0-9]{{3}}[{decimal}]" if is_settled else "[0-9][.,][0-9]"
        open_cell = None
        if self._options.decimal is None and any_match(cells, telling):
            written = pc.unique(cells).drop_null().to_pylist()
            found = Marks.of(written).decide(self._dialect.marks, self._dialect.delimiter)
            decimal = found or self._dialect.marks.majority
            if found is None:
                open_cell = next(filter(is_open, written), None)
        is_grouped = any_match(cells, f"[0-9][{OTHER[decimal]}{GROUPS}][0-9]|[{SIGNS}]")
        return Numbers(name, decimal, self._missing, is_grouped or decimal != self._dialect.decimal, open_cell)


def _check(options: ReadOptions) -> None:
    """Refuse options that no file can have."""
    problems: list[Problem] = []
    fixes: tuple[Fix, ...]
    delimiter = options.delimiter
    if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'):
        fixes = (Fix("delimiter", ";", "or another character"),)
        problems.append(Problem(f"delimiter={delimiter!r} is not a delimiter", fixes))
    if options.decimal not in (None, ".", ",") or (options.decimal is not None and options.decimal == delimiter):
        fixes = (Fix("decimal", "."), Fix("decimal", ","))
        problems.append(Problem(f"decimal={options.decimal!r} is not a decimal mark", fixes))
    if options.encoding is not None and options.encoding not in ENCODINGS:
        problems.append(
            Problem(f"{options.encoding!r} is not a known encoding", advice=f"encodings: {', '.join(ENCODINGS)}")
        )
    if problems:
        raise CsvError(problems)


def _is_blank(data: memoryview) -> bool:
    return bytes(data[:1024]).isspace() and bytes(data).isspace() if data else True


def _end_of_rows(data: bytes) -> int:
    """The end of the last complete row, at a line break outside quotes; 0 if there is none."""
    end = data.rfind(b"\n") + 1
    is_quoted = b'"' in data and data.count(b'"', 0, end) % 2 == 1  # to search takes far less than to count
    while end and is_quoted and len(data) < MAX_BLOCK_BYTES:
        before = data.rfind(b"\n", 0, end - 1) + 1
        is_quoted ^= data.count(b'"', before, end) % 2 == 1
        end = before
    return end


def _whole_lines(lines: io.StringIO) -> Iterable[str]:
    """Lines, read one by one so that the position after each can be queried."""
    while line := lines.readline():
        yield line
