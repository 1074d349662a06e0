"""How a CSV file is written: its encoding, what separates its cells, and what stands before decimals."""

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
SAMPLE_CELLS = 50_000  # that are looked at for marks
NO_MARKS = Marks.of(())


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written."""

    delimiter: str = ","
    decimal: str = "."  # of columns that do not tell another
    marks: Marks = NO_MARKS  # what all cells together say


def encoding_of(head: bytes) -> str:
    """The encoding that a byte order mark tells; UTF-8 where there is none."""
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if head.startswith(mark)), "utf-8")


def sniff(text: str, delimiter: str | None = None, decimal: str | None = None) -> Dialect:
    """The dialect of a file that begins with this text; what is given is not guessed.

    The delimiter is the one that gives most rows the header's number of cells, and of those the one that gives most
    cells.
    """
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda candidate: _fit(_rows(text, candidate)))
    if decimal is not None:
        return Dialect(delimiter, decimal)
    cells = islice(chain.from_iterable(_rows(text, delimiter)[1:]), SAMPLE_CELLS)
    marks = Marks.of(cells)
    return Dialect(delimiter, marks.sure or ("." if delimiter == "," else marks.majority), marks)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows, as far as they are whole."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:  # a cell beyond the reader's limit: the rows before it tell enough
        pass
    return rows


def _fit(rows: list[list[str]]) -> tuple[bool, float, int]:
    """How well a delimiter suits: does it separate anything, in how many rows as in the header, into how many cells."""
    if not rows:
        return False, 0.0, 0
    counts = Counter(map(len, rows))
    n_cells = len(rows[0])
    return n_cells > 1, counts[n_cells] / len(rows), n_cells
