"""Encodes a table with missing values and categories as a matrix, with parameters learned from the training rows.

A category or missing value that only a few rows have gets no feature: a search for separation would find the direction
in which only these rows vary, and it would squeeze all others. `enough_rows` gives the least number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.tables.table import NO_CATEGORY, Table
from melm.tables.times import phases
from melm.typing import Array

MAX_CATEGORIES = 20  # of one column, the most frequent; all others are "other"
MIN_ROWS = 5  # training rows that an indicator feature needs,
MIN_PHASES = 3  # different hours, weekdays or months that a phase feature needs
MAX_DAYS = 4e6  # since 1970: of any year with four digits, and more
MIN_SHARE = 0.03  # and their share: fewer may lie outside the central 95 % of an axis, and squeeze the rest


def enough_rows(n_rows: int) -> int:
    """The least number of training rows that must have a category, or lack a value, to make it a feature."""
    return max(MIN_ROWS, ceil(MIN_SHARE * n_rows))


@dataclass(frozen=True)
class NumberColumn:
    """Numbers: missing values take the median, with an indicator if enough training rows lacked the value."""

    name: str
    median: float
    n_missing: int = 0  # training rows that lacked the value
    has_gaps: bool = False  # whether there is an indicator

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        return {
            "name": self.name,
            "kind": "numeric",
            "median": self.median,
            "n_missing": self.n_missing,
            "has_gaps": self.has_gaps,
        }

    @property
    def features(self) -> list[str]:
        """Names of the encoded columns."""
        return [self.name, *([f"{self.name} (missing)"] if self.has_gaps else [])]

    def encode(self, table: Table, X: Array) -> None:
        """Write the encoded columns."""
        values = table.number(self.name)
        missing = np.isnan(values)
        X[:, 0] = np.where(missing, self.median, values)
        if self.has_gaps:
            X[:, 1] = missing


@dataclass(frozen=True)
class TimeColumn:
    """Times: days as a number, and the phases of the day, the week and the year that vary.

    Each phase has two features, sine and cosine, so that midnight is as near to 23 h as to 1 h.
    """

    name: str
    median: float
    phases: tuple[str, ...]
    day_first: bool = False  # whether 03/04/2024 is the third of April in new rows
    n_missing: int = 0  # training rows that lacked the value
    has_gaps: bool = False  # whether there is an indicator

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        return {
            "name": self.name,
            "kind": "time",
            "median": self.median,
            "phases": list(self.phases),
            "day_first": self.day_first,
            "n_missing": self.n_missing,
            "has_gaps": self.has_gaps,
        }

    @property
    def features(self) -> list[str]:
        """Names of the encoded columns."""
        parts = [f"{self.name} ({phase}, {wave})" for phase in self.phases for wave in ("sine", "cosine")]
        return [self.name, *parts, *([f"{self.name} (missing)"] if self.has_gaps else [])]

    def encode(self, table: Table, X: Array) -> None:
        """Write the encoded columns."""
        values = table.number(self.name)
        missing = np.isnan(values)
        filled = np.where(missing, self.median, values)
        X[:, 0] = filled
        found = phases(filled)
        for index, phase in enumerate(self.phases):
            X[:, 1 + 2 * index] = np.sin(2 * np.pi * found[phase])
            X[:, 2 + 2 * index] = np.cos(2 * np.pi * found[phase])
        if self.has_gaps:
            X[:, -1] = missing


Column: TypeAlias = "NumberColumn | CategoryColumn | TimeColumn"


@dataclass(frozen=True)
class CategoryColumn:
    """Categories: a column of zeros and ones for each frequent one, one for the rest, one for missing values.

    Missing values too rare for an indicator belong to the rest. If the whole rest is too rare, it is encoded as the
    most frequent category, because rows of zeros would make an axis as much as a column of their own. A category that
    no training row had belongs to the rest; without a rest, it is encoded as zeros.
    """

    name: str
    categories: tuple[str, ...]
    has_other: bool
    n_missing: int = 0  # training rows that lacked the value
    has_gaps: bool = False  # whether there is an indicator
    rest_as: str | None = None  # the category as which the rest is encoded

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        return {
            "name": self.name,
            "kind": "categorical",
            "categories": list(self.categories),
            "has_other": self.has_other,
            "n_missing": self.n_missing,
            "has_gaps": self.has_gaps,
            **({} if self.rest_as is None else {"rest_as": self.rest_as}),
        }

    @property
    def features(self) -> list[str]:
        """Names of the encoded columns."""
        others = [label for label, is_there in (("other", self.has_other), ("missing", self.has_gaps)) if is_there]
        return [*(f"{self.name}={value}" for value in self.categories), *(f"{self.name} ({label})" for label in others)]

    def encode(self, table: Table, X: Array) -> None:
        """Write the encoded columns."""
        codes, values = table.text(self.name)
        column_of = {value: column for column, value in enumerate(self.categories)}
        rest = len(self.categories) if self.has_other else column_of.get(self.rest_as or "", NO_CATEGORY)
        missing = X.shape[1] - 1 if self.has_gaps else rest if self.n_missing else NO_CATEGORY
        columns = np.array([*(column_of.get(value, rest) for value in values), missing])
        column = columns[codes]
        X[:] = 0
        rows = np.flatnonzero(column != NO_CATEGORY)
        X[rows, column[rows]] = 1


@dataclass(frozen=True)
class Encoder:
    """Encodes rows of a table as rows of a matrix."""

    columns: tuple[Column, ...]

    @classmethod
    def fit(cls, table: Table) -> Encoder:
        """Learn medians and frequent categories from the training rows of a table."""
        seen: set[bytes] = set()  # indicators so far: columns with missing values in the same rows share one
        return cls(
            tuple(
                _categories(table, name, seen)
                if table.is_text(name)
                else _times(table, name, seen)
                if name in table.time_names
                else _numbers(table, name, seen)
                for name in table.names
            )
        )

    @property
    def features(self) -> list[str]:
        """Names of the encoded columns."""
        return [name for column in self.columns for name in column.features]

    @property
    def sources(self) -> list[list[int]]:
        """For each column of the table, the encoded columns that came from it."""
        ends = np.cumsum([len(column.features) for column in self.columns]).tolist()
        return [list(range(end - len(c.features), end)) for c, end in zip(self.columns, ends, strict=True)]

    def encode(self, table: Table) -> Array:
        """The matrix (n, d'). Columns are found by name; others are ignored."""
        X = np.empty((len(table), len(self.features)))
        for column, places in zip(self.columns, self.sources, strict=True):
            column.encode(table, X[:, places[0] : places[-1] + 1] if places else X[:, :0])
        return X

    def to_json(self) -> list[dict[str, Any]]:
        """The encoder as JSON values."""
        return [column.to_json() for column in self.columns]

    @classmethod
    def from_json(cls, stored: Sequence[dict[str, Any]]) -> Encoder:
        """The inverse of `to_json`. Raises TypeError or ValueError for invalid values."""
        return cls(tuple(_from_json(fields) for fields in stored))


def needs_encoder(table: Table) -> bool:
    """Whether a table has categories, times or missing values. Without them it is a matrix already."""
    return bool(table.text_names or table.time_names) or bool(np.isnan(table.numbers).any())


def _numbers(table: Table, name: str, seen: set[bytes]) -> NumberColumn:
    values = table.number(name)
    missing = np.isnan(values)
    median = 0.0 if missing.all() else float(np.median(values[~missing]))
    return NumberColumn(name, median, int(missing.sum()), _is_indicated(missing, seen))


def _times(table: Table, name: str, seen: set[bytes]) -> TimeColumn:
    number = _numbers(table, name, seen)
    values = table.number(name)
    found = phases(values[~np.isnan(values)])
    varying = tuple(phase for phase, places in found.items() if len(np.unique(places)) >= MIN_PHASES)
    return TimeColumn(name, number.median, varying, name in table.day_first, number.n_missing, number.has_gaps)


def _categories(table: Table, name: str, seen: set[bytes]) -> CategoryColumn:
    codes, values = table.text(name)
    missing = codes == NO_CATEGORY
    n_missing, has_gaps = int(missing.sum()), _is_indicated(missing, seen)
    counts = np.bincount(codes[~missing], minlength=len(values))
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES].tolist()
    kept = sorted(code for code in frequent if counts[code] >= enough_rows(len(codes)))
    n_rest = int(counts.sum() - counts[kept].sum()) + (0 if has_gaps else n_missing)
    has_other = n_rest >= enough_rows(len(codes)) or (n_rest > 0 and not kept)
    rest_as = values[frequent[0]] if n_rest and not has_other else None
    return CategoryColumn(name, tuple(values[code] for code in kept), has_other, n_missing, has_gaps, rest_as)


def _is_indicated(missing: npt.NDArray[np.bool_], seen: set[bytes]) -> bool:
    """Whether missing values get an indicator: enough rows, and no other column with the same missing rows."""
    if missing.sum() < enough_rows(len(missing)) or missing.all():
        return False
    rows = np.packbits(missing).tobytes()
    is_new = rows not in seen
    seen.add(rows)
    return is_new


def _from_json(fields: dict[str, Any]) -> Column:
    name, n_missing, has_gaps = str(fields["name"]), int(fields["n_missing"]), bool(fields["has_gaps"])
    if fields["kind"] == "numeric":
        median = float(fields["median"])
        if not np.isfinite(median):
            raise ValueError(f"The median of {name!r} is {median}.")
        return NumberColumn(name, median, n_missing, has_gaps)
    if fields["kind"] == "time":
        median, found = float(fields["median"]), tuple(map(str, fields["phases"]))
        if not abs(median) < MAX_DAYS or not set(found) <= set(phases(np.zeros(1))):
            raise ValueError(f"{name!r} is not a column of times.")
        return TimeColumn(name, median, found, bool(fields["day_first"]), n_missing, has_gaps)
    categories = tuple(map(str, fields["categories"]))
    rest_as = fields.get("rest_as")  # version 0.1 did not have it
    if rest_as is not None and rest_as not in categories:
        raise ValueError(f"{rest_as!r} is not a category of {name!r}.")
    return CategoryColumn(name, categories, bool(fields["has_other"]), n_missing, has_gaps, rest_as)
