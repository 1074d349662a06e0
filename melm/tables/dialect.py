"""The dialect of a CSV file: its encoding, its delimiter and its decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice

from melm.tables.marks import Marks

DELIMITERS = (",", ";", "\t", "|")
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
LONGEST_MARK = max(map(len, BYTE_ORDER_MARKS))
SAMPLE_ROWS = 200
SAMPLE_CELLS = 50_000  # inspected for decimal and thousands marks
NO_MARKS = Marks.of(())


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written."""

    delimiter: str = ","
    decimal: str = "."  # unless a column shows another
    marks: Marks = NO_MARKS  # counted over all cells


def encoding_of(head: bytes) -> str:
    """The encoding given by a byte order mark; UTF-8 without one."""
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if head.startswith(mark)), "utf-8")


def sniff(text: str, delimiter: str | None = None, decimal: str | None = None) -> Dialect:
    """Guess the dialect of a file that begins with this text, except for what is given.

    The delimiter is the one with the most rows as long as the header; of equals, the one with the most cells.
    """
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda candidate: _fit(_rows(text, candidate)))
    if decimal is not None:
        return Dialect(delimiter, decimal)
    cells = islice(chain.from_iterable(_rows(text, delimiter)[1:]), SAMPLE_CELLS)
    marks = Marks.of(cells)
    return Dialect(delimiter, marks.sure or ("." if delimiter == "," else marks.majority), marks)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The first complete rows."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:  # a cell beyond the reader's size limit: use the rows before it
        pass
    return rows


def _fit(rows: list[list[str]]) -> tuple[bool, float, int]:
    """A sort key for delimiters: whether it separates cells, the share of rows as long as the header, the cells."""
    if not rows:
        return False, 0.0, 0
    counts = Counter(map(len, rows))
    n_cells = len(rows[0])
    return n_cells > 1, counts[n_cells] / len(rows), n_cells
