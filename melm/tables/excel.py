"""Excel workbooks: a sheet is converted to CSV, so that its cells go through the same reader as those of text files.

Numbers are written without thousands marks, dates as ISO 8601, and text as it was typed. Titles above the header become
empty lines, so that a row keeps the line number that Excel shows.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from math import ceil
from typing import Any, TypeAlias

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

Cell: TypeAlias = Any  # text, a number, a boolean, a date or time; empty text for an empty cell

HEAD_ROWS = 50  # among which the header is searched
HEADER_SHARE = 0.6  # least share of the cells of the fullest row: titles and notes have fewer
SHOWN_SHEETS = 20
EXACT = 2**53


class ExcelError(ValueError):
    """The bytes are not a workbook, or it lacks the sheet; `advice` says what to do."""

    def __init__(self, detail: str, advice: str | None = None) -> None:
        super().__init__(detail)
        self.advice = advice


class NotExcel(ExcelError):
    """The bytes are not a workbook."""


def to_csv(data: bytes | memoryview, sheet: str | None = None) -> bytes:
    """Convert a sheet to CSV with commas in UTF-8; by default the first sheet that has cells."""
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        return _Sheet(_choose(workbook, sheet)).to_csv()
    except (CalamineError, OSError, ValueError) as error:
        if isinstance(error, ExcelError):
            raise
        raise NotExcel(f"is not an Excel workbook: {str(error).partition(chr(10))[0][:200]}") from None


def _choose(workbook: Any, name: str | None) -> CalamineSheet:
    names: list[str] = workbook.sheet_names
    if name is not None and name not in names:
        shown = ", ".join(map(repr, names[:SHOWN_SHEETS]))
        raise ExcelError(f"there is no sheet {name[:100]!r}", f"sheets: {shown}")
    for found in (workbook.get_sheet_by_name(each) for each in (names if name is None else [name])):
        if found.height:
            sheet: CalamineSheet = found
            return sheet
    raise ExcelError("there are no cells", "write a table with a header row")


class _Sheet:
    """A sheet whose header has been found."""

    def __init__(self, sheet: CalamineSheet) -> None:
        self._sheet = sheet
        head = list(islice(sheet.iter_rows(), HEAD_ROWS))
        self._header, self._names = _find_header(head)
        self._is_used = [bool(name) for name in self._names]
        self._has_hours = [False] * len(self._names)  # False for a column of dates without a time in any cell
        for row in self._rows():
            for index, cell in enumerate(row):
                self._is_used[index] |= cell != ""
                self._has_hours[index] |= isinstance(cell, dt.datetime)

    def _rows(self) -> Iterator[list[Cell]]:
        """The rows below the header."""
        return islice(self._sheet.iter_rows(), self._header + 1, None)

    def to_csv(self) -> bytes:
        """The table as CSV, with an empty line for each row above the header."""
        used = [index for index, is_used in enumerate(self._is_used) if is_used]
        text = io.StringIO("\n" * self._header)
        text.seek(0, io.SEEK_END)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([self._names[index] for index in used])
        for row in self._rows():
            cells = [_as_text(row[index], has_hours=self._has_hours[index]) for index in used]
            if any(cells):
                writer.writerow(cells)
            else:
                text.write("\n")
        return text.getvalue().encode()


def _find_header(head: Sequence[Sequence[Cell]]) -> tuple[int, list[str]]:
    """The row of the header, and its names. Two rows are joined if the columns need both to be distinguished."""
    n_filled = [sum(cell != "" for cell in row) for row in head]
    least = max(1, ceil(HEADER_SHARE * max(n_filled)))
    header = next(index for index, count in enumerate(n_filled) if count >= least)
    names = [_as_name(cell) for cell in head[header]]
    if header and n_filled[header - 1] > 1 and len(set(filter(None, names))) < len(list(filter(None, names))):
        names = _joined(_spread(map(_as_name, head[header - 1])), names)  # a merged cell names several columns
    if _is_second_header(head[header + 1 :]):
        return header + 1, _joined(names, map(_as_name, head[header + 1]))
    return header, names


def _is_second_header(below: Sequence[Sequence[Cell]]) -> bool:
    """Whether the row after the header is a header as well: text above columns without text."""
    if len(below) < 2 or not all(isinstance(cell, str) for cell in below[0]):
        return False
    columns = [[row[index] for row in below[1:] if row[index] != ""] for index, cell in enumerate(below[0]) if cell]
    without_text = [not any(isinstance(cell, str) for cell in column) for column in columns if column]
    return len(without_text) > 1 and any(without_text) and len(set(below[0])) > 1


def _spread(names: Any) -> list[str]:
    """Names with those of merged cells repeated for each of their columns."""
    spread, last = [], ""
    for name in names:
        last = name or last
        spread.append(last)
    return spread


def _joined(first: Sequence[str], second: Any) -> list[str]:
    return [" ".join(dict.fromkeys(filter(None, pair))) for pair in zip(first, second, strict=True)]


def _as_name(cell: Cell) -> str:
    return " ".join(_as_text(cell).split())


def _as_text(cell: Cell, *, has_hours: bool = False) -> str:
    """A cell as it would be written in a text file."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) <= EXACT else repr(cell)
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    if isinstance(cell, dt.date):
        return f"{cell.isoformat()} 00:00:00" if has_hours else cell.isoformat()
    if isinstance(cell, dt.time):
        return cell.isoformat()
    if isinstance(cell, dt.timedelta):
        return _as_text(cell.total_seconds())
    return str(cell)
