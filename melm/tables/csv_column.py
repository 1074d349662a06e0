"""Conversion of the cells of a CSV column to numbers, with any decimal and thousands marks, or to text."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from melm.tables.marks import GROUPS, OTHER, SIGNS, is_written_with, number_pattern
from melm.tables.problem import Fix, Problem, Problems, Severity
from melm.tables.roles import WHOLE_NUMBER
from melm.tables.table import NO_CATEGORY, Codes, sort_categories
from melm.typing import Array

COUNTED_PROBLEMS = 100_000  # counting more would take long and help nobody
MARK_NAMES = {".": "a decimal point", ",": "a decimal comma"}


class Numbers:
    """Converts the cells of a column to numbers."""

    def __init__(
        self, name: str, decimal: str, missing: frozenset[str], is_marked: bool, open_cell: str | None = None
    ) -> None:
        self._name, self._decimal, self._missing = name, decimal, missing
        self._open_cell = open_cell  # a cell whose mark may be a decimal or a thousands mark
        self.is_marked = is_marked  # by thousands marks, a currency, or another decimal mark: Arrow cannot parse it

    def take(self, cells: Any, first_row: int, real_row: Callable[[int], int], problems: Problems) -> Array:
        """Convert the next cells, and report those that are not numbers."""
        values, wrong = self.convert(cells)
        for index in wrong:
            self.complain(real_row(first_row + index), str(cells[index].as_py()), problems)
        return values

    def convert(self, cells: Any) -> tuple[Array, list[int]]:
        """Numbers, NaN where missing, and the indices of cells that are not numbers. Some numbers may be infinite."""
        if cells.type == pa.float64():
            return cells.to_numpy(zero_copy_only=False), []
        if self._decimal == "." and not self.is_marked:
            with suppress(pa.ArrowInvalid):
                return pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False), []
        trimmed = pc.utf8_trim_whitespace(cells)
        is_number = pc.fill_null(pc.match_substring_regex(trimmed, number_pattern(self._decimal)), False)
        bare = pc.replace_substring(trimmed, OTHER[self._decimal], "")
        if any_match(bare, f"[+{GROUPS}{SIGNS}]"):  # checked first: replacing by pattern is many times slower
            bare = pc.replace_substring_regex(bare, f"[+{GROUPS}{SIGNS}]", "")
        bare = pc.if_else(is_number, pc.replace_substring(bare, self._decimal, "."), None)
        values = pc.cast(bare, pa.float64()).to_numpy(zero_copy_only=False)
        is_missing = pc.is_in(trimmed, pa.array([None, *self._missing], pa.string()))
        wrong = ~pc.or_(is_number, is_missing).to_numpy(zero_copy_only=False)
        return values, np.flatnonzero(wrong).tolist()

    def ask(self, problems: Problems) -> None:
        """Report both readings if the decimal mark had to be guessed."""
        cell, decimal = self._open_cell, self._decimal
        if cell is None:
            return
        fraction, thousand = (re.sub("[.,]", mark, cell) for mark in (".", ""))
        now, other = (fraction, thousand) if decimal in cell else (thousand, fraction)
        detail = f"{cell!r} may be {fraction} or {thousand}: it is read as {now}"
        fixes = (Fix("decimal", OTHER[decimal], f"where it is {other}"), Fix("decimal", decimal, "to confirm it"))
        problems.add(Problem(detail, fixes, column=self._name, level=Severity.QUESTION))

    def has_other_mark(self, cell: str) -> bool:
        """Whether a cell that is not a number would be one with the other decimal mark."""
        return is_written_with(cell.strip(), OTHER[self._decimal])

    def complain(self, row: int, cell: str, problems: Problems) -> None:
        """Report a cell that is not a number."""
        if problems.n_found >= COUNTED_PROBLEMS:
            return
        other = OTHER[self._decimal]
        kind = "no number"
        detail = f"{cell[:40]!r} is not a number, as the others are"
        fixes = [
            Fix("missing_values", cell[:40], "where it stands for a missing value"),
            Fix("columns", {self._name: "categorical"}, "where the column is text"),
        ]
        if self.has_other_mark(cell):
            kind = "other mark"
            detail = f"{cell[:40]!r} has {MARK_NAMES[other]}, where the column has {MARK_NAMES[self._decimal]}"
            fixes.insert(0, Fix("decimal", other, "where that separates decimals"))
        problems.add(Problem(detail, tuple(fixes), column=self._name, rows=(row,)), kind)


class Text:
    """Converts the cells of a column to text: codes in order of appearance, and their values."""

    def __init__(self, missing: frozenset[str], numbers: Numbers | None = None) -> None:
        self._missing = missing
        self._numbers = numbers  # how to read the column as numbers, unless every cell is a whole number
        self._code_of: dict[str, int] = {}
        self.n_characters = 0  # of all values

    @property
    def n_values(self) -> int:
        """The number of distinct values so far."""
        return len(self._code_of)

    def take(self, cells: Any) -> Codes:
        """Convert the next cells, stripped of surrounding blanks."""
        encoded = pc.dictionary_encode(cells)
        n_before = self.n_values
        codes = [
            NO_CATEGORY
            if value.strip() in self._missing
            else self._code_of.setdefault(value.strip(), len(self._code_of))
            for value in encoded.dictionary.to_pylist()
        ]
        self.n_characters += sum(map(len, islice(reversed(self._code_of), self.n_values - n_before)))
        indices = pc.fill_null(encoded.indices, len(codes)).to_numpy(zero_copy_only=False)
        taken: Codes = np.array([*codes, NO_CATEGORY], np.int32)[indices]
        return taken

    def sort(self, codes: Codes) -> tuple[Codes, tuple[str, ...]]:
        """The codes of the whole column as indices into its sorted values, and these values."""
        return sort_categories(codes, list(self._code_of))

    def as_numbers(self, codes: Codes, real_row: Callable[[int], int], problems: Problems) -> Array | None:
        """The column as numbers, or None if it is text."""
        values = list(self._code_of)
        if self._numbers is None or all(map(WHOLE_NUMBER.fullmatch, values)):
            return None
        converted, wrong = self._numbers.convert(pa.array(values, pa.string()))
        wrong += np.flatnonzero(np.isinf(converted)).tolist()
        for row in np.flatnonzero(np.isin(codes, wrong)).tolist():
            self._numbers.complain(real_row(row), values[codes[row]], problems)
        column: Array = np.append(converted, np.nan)[codes]
        return column


def any_match(cells: Any, pattern: str) -> bool:
    """Whether some cell matches a regular expression."""
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())
