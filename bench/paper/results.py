"""Every fold of every table, as a tidy CSV file, and the statistics of its scores."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.paper.fold_scores import CLASSIFIERS
from bench.paper.published import SHAPES
from bench.paper.strict import FOLDS
from bench.paper.tasks import Labels, Protocol, TableName
from melm.typing import Array

DECIMALS = 4


@dataclass(frozen=True)
class Line:
    """Balanced accuracy of the three classifiers on one fold: a line of the file."""

    table: TableName
    protocol: Protocol
    data_set: str
    entrant: str
    labels: Labels
    repeat: int
    fold: int
    parameters: str  # of the projection
    svm: float
    knn: float
    kde: float
    believed: str  # the classifier that inner folds have chosen; empty where none was to be chosen


class Place(NamedTuple):
    """A cell of a table."""

    table: TableName
    protocol: Protocol
    data_set: str
    entrant: str
    labels: Labels = "true"


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, corrected for the training rows that folds share (Nadeau and Bengio)."""

    mean: float
    error: float

    @classmethod
    def of(cls, scores: Array) -> Estimate:
        return cls(float(scores.mean()), float(scores.std(ddof=1) * np.sqrt(1 / len(scores) + 1 / (FOLDS - 1))))


class Results:
    """The lines of a run, by cell."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)

    @classmethod
    def read(cls, path: Path) -> Results:
        types = {field.name: {"int": int, "float": float}.get(str(field.type), str) for field in fields(Line)}
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        return cls(Line(**{name: types[name](value) for name, value in row.items()}) for row in rows)

    def write(self, path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Line)], lineterminator="\n")
            writer.writeheader()
            for line in self.lines:
                values = asdict(line)
                values.update({name: round(values[name], DECIMALS) for name in CLASSIFIERS})
                writer.writerow(values)

    def with_cells(self, others: Results) -> Results:
        """The same with these cells, in the place of its own where it has them."""
        kept = [line for line in self.lines if _place(line) not in others._by_place]
        return Results([*kept, *others.lines])

    @property
    def data_sets(self) -> list[str]:
        """Those that were run: the paper's in its order, and others in their own."""
        run = dict.fromkeys(line.data_set for line in self.lines)
        return [name for name in SHAPES if name in run] + [name for name in run if name not in SHAPES]

    def scores(self, place: Place) -> Array | None:
        """The score of every fold, in one order for all entrants; None where the cell was not run."""
        lines = self._by_place.get(place)
        if lines is None:
            return None
        if place.protocol == "strict":
            return np.array([_score(line) for line in lines])
        return max(_candidates(lines, place.table), key=lambda scores: float(scores.mean()))

    def estimate(self, place: Place) -> Estimate | None:
        """The mean of a cell, with its standard error."""
        scores = self.scores(place)
        return None if scores is None else Estimate.of(scores)

    def difference(self, place: Place, other: Place) -> Estimate | None:
        """How much better one cell is than another, fold by fold."""
        scores, others = self.scores(place), self.scores(other)
        return None if scores is None or others is None else Estimate.of(scores - others)

    @cached_property
    def _by_place(self) -> dict[Place, list[Line]]:
        cells: dict[Place, list[Line]] = defaultdict(list)
        for line in sorted(self.lines, key=lambda line: (line.repeat, line.fold)):
            cells[_place(line)].append(line)
        return cells


def _place(line: Line) -> Place:
    return Place(line.table, line.protocol, line.data_set, line.entrant, line.labels)


def _score(line: Line) -> float:
    """A picture is scored by the mean of the three classifiers, a pipeline by the one that inner folds have chosen."""
    if line.believed:
        return float(getattr(line, line.believed))
    return (line.svm + line.knn + line.kde) / 3


def _candidates(lines: Sequence[Line], table: TableName) -> list[Array]:
    """What the paper-like protocol chooses from by the very folds that it reports."""
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.parameters].append(line)
    if table == "separability":
        return [np.array([_score(line) for line in group]) for group in groups.values()]
    return [np.array([getattr(line, name) for line in group]) for group in groups.values() for name in CLASSIFIERS]
