"""Problems of a file as data: where, what, and which value of which parameter would fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

SHOWN_PLACES = 5
SHOWN_KINDS = 100  # bounds the size of the answer for a file in which everything is wrong


class Severity(StrEnum):
    """How serious a problem is."""

    ERROR = "error"  # the file is not read until this is fixed
    QUESTION = "question"  # two readings are possible: the more likely one was taken
    WARNING = "warning"  # the file is read, and something is left out or changed


@dataclass(frozen=True)
class Fix:
    """A parameter of the reader, and the value that would fix a problem."""

    parameter: str
    value: Any
    purpose: str = ""  # completes "set it …": "where the column is text"

    def __str__(self) -> str:
        return f"{self.parameter}={self.value!r} {self.purpose}".rstrip()


@dataclass(frozen=True)
class Problem:
    """A problem of a file. One problem represents all of its kind in a column."""

    detail: str
    fixes: tuple[Fix, ...] = ()
    advice: str | None = None  # if no parameter fixes it
    column: str | None = None
    rows: tuple[int, ...] = ()  # the first of them, counted from 0, without the header and empty lines
    lines: tuple[int, ...] = ()  # of the same rows in the file, counted from 1
    count: int = 1
    level: Severity = Severity.ERROR
    member: str | None = None  # the member of a request body, such as y, if it concerns no column

    @property
    def fix(self) -> str | None:
        """How to fix it, as a sentence that names parameters."""
        return in_words(self.fixes, self.advice)

    def __str__(self) -> str:
        places = [place_of(self.rows[0], self.lines[0] if self.lines else None)] if self.rows else []
        places += [] if self.column is None else [f"column {self.column!r}"]
        return f"{', '.join(places)}: {self.detail}" if places else self.detail


def in_words(fixes: Iterable[Fix], advice: str | None) -> str | None:
    """How to fix a problem, as a sentence that names parameters."""
    return "; ".join([*map(str, fixes), *([] if advice is None else [advice])]) or None


def place_of(row: int, line: int | None = None) -> str:
    """The place of a row, by its line for people and by its index from 0 for programs."""
    return f"row index {row}" if line is None else f"line {line} (row index {row})"


class Problems:
    """Collects problems: those of one kind in a column become one, with a count and the first places."""

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str | None, str], Problem] = {}
        self.n_found = 0

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._by_kind.values())

    @property
    def has_errors(self) -> bool:
        """Whether something must be fixed before the file is read."""
        return any(problem.level is Severity.ERROR for problem in self)

    def place(self, line_of: Mapping[int, int]) -> None:
        """Add the lines of rows, as far as they are known."""
        for key, problem in self._by_kind.items():
            if problem.rows and not problem.lines and all(row in line_of for row in problem.rows):
                self._by_kind[key] = replace(problem, lines=tuple(line_of[row] for row in problem.rows))

    def add(self, problem: Problem, kind: str | None = None) -> None:
        """Add a problem. Of those with the same `kind` in a column, only the first keeps its full text."""
        key = (problem.column, problem.detail if kind is None else kind)
        self.n_found += problem.count
        first = self._by_kind.get(key)
        if first is not None:
            rows = (*first.rows, *problem.rows)[:SHOWN_PLACES]
            self._by_kind[key] = replace(first, rows=rows, count=first.count + problem.count)
        elif len(self._by_kind) < SHOWN_KINDS:
            self._by_kind[key] = problem
