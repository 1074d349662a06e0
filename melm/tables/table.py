"""A table: named columns of numbers and of text, both with missing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.typing import Array

Codes: TypeAlias = npt.NDArray[np.int32]
Cell: TypeAlias = float | int | str | bool | None

NO_CATEGORY = -1


@dataclass(frozen=True)
class Table:
    """A table: one matrix of the numeric columns, and one of the text columns as codes into their sorted values."""

    names: tuple[str, ...]  # of all columns, in their order
    number_names: tuple[str, ...]
    numbers: Array  # (n, p), NaN where missing
    text_names: tuple[str, ...]
    codes: Codes  # (n, q), -1 where missing
    categories: tuple[tuple[str, ...], ...]  # q of them: the values that the codes stand for
    time_names: tuple[str, ...] = ()  # columns of numbers that are days since 1970-01-01
    day_first: tuple[str, ...] = ()  # those that were written with the day before the month

    @classmethod
    def of_numbers(cls, numbers: Array, names: Sequence[str] | None = None) -> Table:
        """A table without text. The matrix is not copied."""
        names = tuple(names) if names is not None else tuple(f"x{j}" for j in range(numbers.shape[1]))
        return cls(names, names, numbers, (), np.empty((len(numbers), 0), np.int32), ())

    @classmethod
    def of_columns(cls, columns: Mapping[str, Array | tuple[Codes, tuple[str, ...]]], n_rows: int) -> Table:
        """Columns one by one: numbers as an array, text as codes with its values."""
        numbers = {name: column for name, column in columns.items() if not isinstance(column, tuple)}
        texts = {name: column for name, column in columns.items() if isinstance(column, tuple)}
        matrix, codes = np.empty((n_rows, len(numbers))), np.empty((n_rows, len(texts)), np.int32)
        for j, column in enumerate(numbers.values()):
            matrix[:, j] = column
        for j, (values, _) in enumerate(texts.values()):
            codes[:, j] = values
        categories = tuple(values for _, values in texts.values())
        return cls(tuple(columns), tuple(numbers), matrix, tuple(texts), codes, categories)

    @classmethod
    def of_cells(cls, columns: Mapping[str, Sequence[Cell]], text: Iterable[str] | None = None) -> Table:
        """A table from columns of Python values. `text` names the text columns; by default those with any text."""
        n_rows = max(map(len, columns.values()), default=0)
        is_text = {
            name: name in text if text is not None else any(isinstance(cell, str | bool) for cell in cells)
            for name, cells in columns.items()
        }
        return cls.of_columns(
            {name: encode_text(cells) if is_text[name] else to_numbers(cells) for name, cells in columns.items()},
            n_rows,
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.number_names)}

    @cached_property
    def _text_places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.text_names)}

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, name: str) -> Array:
        """A column of numbers (n,)."""
        return self.numbers[:, self._places[name]]

    def text(self, name: str) -> tuple[Codes, tuple[str, ...]]:
        """A column of text: its codes (n,) and the values that they stand for."""
        index = self._text_places[name]
        return self.codes[:, index], self.categories[index]

    def is_text(self, name: str) -> bool:
        """Whether a column is text."""
        return name in self._text_places

    def is_missing(self, name: str) -> npt.NDArray[np.bool_]:
        """Which values of a column are missing (n,)."""
        missing: npt.NDArray[np.bool_]
        missing = self.text(name)[0] == NO_CATEGORY if self.is_text(name) else np.isnan(self.number(name))
        return missing

    def select(self, names: Sequence[str]) -> Table:
        """Some of the columns, in the given order. A matrix whose columns are all kept in order is not copied."""
        number_names = tuple(name for name in names if not self.is_text(name))
        text_names = tuple(name for name in names if self.is_text(name))
        numbers, codes, categories = self.numbers, self.codes, self.categories
        if number_names != self.number_names:
            numbers = numbers[:, [self._places[name] for name in number_names]]
        if text_names != self.text_names:
            chosen = [self._text_places[name] for name in text_names]
            codes, categories = codes[:, chosen], tuple(categories[index] for index in chosen)
        chosen_names = set(names)
        times = tuple(name for name in self.time_names if name in chosen_names)
        day_first = tuple(name for name in self.day_first if name in chosen_names)
        return Table(tuple(names), number_names, numbers, text_names, codes, categories, times, day_first)

    def take(self, rows: npt.NDArray[np.intp]) -> Table:
        """Some of the rows."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def read_as_text(self, name: str) -> tuple[Codes, tuple[str, ...]]:
        """A column as text, with numbers formatted."""
        return self.text(name) if self.is_text(name) else encode_text(self.number(name).tolist())

    def read_as_number(self, name: str) -> Array:
        """A column as numbers. Raises ValueError if a value is not a number."""
        if not self.is_text(name):
            return self.number(name)
        codes, categories = self.text(name)
        values: Array = np.array([*map(float, categories), np.nan])[codes]
        return values

    def with_text(self, name: str) -> Table:
        """The table with a column of numbers converted to text."""
        return self if self.is_text(name) else self.with_columns({name: self.read_as_text(name)})

    def with_columns(self, changed: Mapping[str, Array | tuple[Codes, tuple[str, ...]]]) -> Table:
        """The table with some columns replaced."""
        columns: dict[str, Array | tuple[Codes, tuple[str, ...]]] = {
            other: self.text(other) if self.is_text(other) else self.number(other) for other in self.names
        }
        changed_table = Table.of_columns(columns | dict(changed), len(self))
        return replace(changed_table, time_names=self.time_names, day_first=self.day_first)

    def cells(self, name: str) -> list[Any]:
        """A column as Python values, None where missing."""
        if not self.is_text(name):
            return [None if np.isnan(value) else value for value in self.number(name).tolist()]
        codes, categories = self.text(name)
        return [None if code == NO_CATEGORY else categories[code] for code in codes.tolist()]


def encode_text(cells: Sequence[Cell]) -> tuple[Codes, tuple[str, ...]]:
    """Codes into the sorted values of a column."""
    texts = [None if cell is None or cell != cell else as_text(cell) for cell in cells]
    categories = tuple(sorted({text for text in texts if text is not None}))
    code_of = {text: code for code, text in enumerate(categories)}
    return np.array([NO_CATEGORY if text is None else code_of[text] for text in texts], np.int32), categories


def sort_categories(codes: Codes, values: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Codes into values in any order, converted to codes into the sorted values."""
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values) + 1, np.int32)
    rank[order] = np.arange(len(values))
    rank[NO_CATEGORY] = NO_CATEGORY
    return rank[codes], tuple(values[code] for code in order)


def to_numbers(cells: Sequence[Cell]) -> Array:
    """A column of numbers, NaN where missing."""
    return np.array([np.nan if cell is None else cell for cell in cells], np.float64)


def as_text(cell: float | int | str | bool) -> str:
    """A value as it would be written in a file: 3.0 is 3."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
