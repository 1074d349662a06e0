"""From a table with gaps and categories to a matrix: what was learned about each column from the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from melm.tables.table import NO_CATEGORY, Table
from melm.typing import Array

MAX_CATEGORIES = 20  # of one column, the most frequent; all others are "other"
MIN_ROWS = 5  # a category with fewer training rows is "other"


@dataclass(frozen=True)
class NumberColumn:
    """Numbers: gaps take the median and are flagged in a column of their own."""

    name: str
    median: float
    n_missing: int = 0  # gaps among the training rows

    @property
    def has_gaps(self) -> bool:
        """Whether some training row had a gap."""
        return self.n_missing > 0

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
class CategoryColumn:
    """Categories: a column of zeros and ones for each frequent one, one for the rest, one for gaps.

    A category that was not there in training is one of the rest; where there was no rest, it is all zeros.
    """

    name: str
    categories: tuple[str, ...]
    has_other: bool
    n_missing: int = 0  # gaps among the training rows

    @property
    def has_gaps(self) -> bool:
        """Whether some training row had a gap."""
        return self.n_missing > 0

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        return {
            "name": self.name,
            "kind": "categorical",
            "categories": list(self.categories),
            "has_other": self.has_other,
            "n_missing": self.n_missing,
            "has_gaps": self.has_gaps,
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
        other = len(self.categories) if self.has_other else NO_CATEGORY
        columns = np.array([*(column_of.get(value, other) for value in values), NO_CATEGORY])
        if self.has_gaps:
            columns[NO_CATEGORY] = X.shape[1] - 1
        column = columns[codes]
        X[:] = 0
        rows = np.flatnonzero(column != NO_CATEGORY)
        X[rows, column[rows]] = 1


@dataclass(frozen=True)
class Encoder:
    """What turns rows of a table into rows of a matrix."""

    columns: tuple[NumberColumn | CategoryColumn, ...]

    @classmethod
    def fit(cls, table: Table) -> Encoder:
        """Medians and frequent categories of the rows of a table: the training rows."""
        return cls(tuple(_categories(table, n) if table.is_text(n) else _numbers(table, n) for n in table.names))

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
        """The matrix (n, d'). Columns are found by name; others are left alone."""
        X = np.empty((len(table), len(self.features)))
        for column, places in zip(self.columns, self.sources, strict=True):
            column.encode(table, X[:, places[0] : places[-1] + 1] if places else X[:, :0])
        return X

    def to_json(self) -> list[dict[str, Any]]:
        """The encoder as JSON values."""
        return [column.to_json() for column in self.columns]

    @classmethod
    def from_json(cls, stored: Sequence[dict[str, Any]]) -> Encoder:
        """The inverse of `to_json`. TypeError or ValueError where it is none."""
        return cls(tuple(_from_json(fields) for fields in stored))


def needs_encoder(table: Table) -> bool:
    """Whether a table has categories or gaps. One without is a matrix as it is."""
    return bool(table.text_names) or bool(np.isnan(table.numbers).any())


def _numbers(table: Table, name: str) -> NumberColumn:
    values = table.number(name)
    missing = np.isnan(values)
    median = 0.0 if missing.all() else float(np.median(values[~missing]))
    return NumberColumn(name, median, int(missing.sum()))


def _categories(table: Table, name: str) -> CategoryColumn:
    codes, values = table.text(name)
    counts = np.bincount(codes[codes != NO_CATEGORY], minlength=len(values))
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    kept = sorted(code for code in frequent.tolist() if counts[code] >= MIN_ROWS)
    return CategoryColumn(
        name,
        tuple(values[code] for code in kept),
        has_other=bool(counts.sum() > counts[kept].sum()),
        n_missing=int((codes == NO_CATEGORY).sum()),
    )


def _from_json(fields: dict[str, Any]) -> NumberColumn | CategoryColumn:
    if fields["kind"] == "numeric":
        median = float(fields["median"])
        if not np.isfinite(median):
            raise ValueError(f"The median of {fields['name']!r} is {median}.")
        return NumberColumn(str(fields["name"]), median, int(fields["n_missing"]))
    categories = tuple(map(str, fields["categories"]))
    return CategoryColumn(str(fields["name"]), categories, bool(fields["has_other"]), int(fields["n_missing"]))
