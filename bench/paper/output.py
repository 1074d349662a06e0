"""What a run leaves: two CSV files, the page that is worked out from them, and its figures."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from bench.paper import data_sets, figures
from bench.paper.page import write_page
from bench.paper.public_page import write_public_page
from bench.paper.results import Line, Results
from bench.paper.tasks import Picture, Result, Scored, Starts, Task
from melm.typing import Array

DECIMALS = 6  # of a divergence


@dataclass(frozen=True)
class Output(ABC):
    """Where the files are: one table of all folds, and the page that is made from it."""

    results_name: ClassVar[str]
    page_name: ClassVar[str]

    tables: Path
    pages: Path

    @property
    def page(self) -> Path:
        return self.pages / self.page_name

    @property
    def results(self) -> Path:
        return self.tables / self.results_name

    def write(self, outcomes: Mapping[Task, Result], data: Path) -> None:
        """Everything. What was not run stays as it is, and the page is made from the files: it says what they do."""
        self.tables.mkdir(parents=True, exist_ok=True)
        self.pages.mkdir(parents=True, exist_ok=True)
        found = Results(
            Line(task.table, task.protocol, task.data_set, task.entrant.name, task.labels, **fields)
            for task, scores in outcomes.items()
            if isinstance(task, Scored)
            for fields in scores
        )
        kept = Results.read(self.results) if self.results.exists() else Results([])
        kept.with_cells(found).write(self.results)
        self.write_figures(outcomes, data)
        self.page.write_text(self.render())

    @abstractmethod
    def write_figures(self, outcomes: Mapping[Task, Result], data: Path) -> None:
        """What is beside the results and the page."""

    @abstractmethod
    def render(self) -> str:
        """The page, from the files."""


@dataclass(frozen=True)
class PublicOutput(Output):
    """Of the comparison on public data."""

    results_name = "public.csv"
    page_name = "public-data.md"

    def write_figures(self, outcomes: Mapping[Task, Result], data: Path) -> None:
        """None."""

    def render(self) -> str:
        return write_public_page(Results.read(self.results))


@dataclass(frozen=True)
class PaperOutput(Output):
    """Of the paper's comparison."""

    results_name = "results.csv"
    page_name = "paper.md"

    def write_figures(self, outcomes: Mapping[Task, Result], data: Path) -> None:
        """The divergences of starts, their figures, and the pictures of one data set by every method."""
        (self.pages / "images").mkdir(exist_ok=True)
        if not any(isinstance(task, Starts) for task in outcomes):
            return
        self._write_starts(outcomes)
        divergences = self.read_starts()
        self._image("histograms", figures.histograms(divergences))
        self._image("starts", figures.curves(divergences))
        pictures = {task: np.array(Z) for task, Z in outcomes.items() if isinstance(task, Picture)}
        if pictures:
            shown = data_sets.load(data, next(iter(pictures)).data_set)
            by_entrant = {task.entrant.name: Z for task, Z in pictures.items()}
            self._image(shown.name, figures.pictures(by_entrant, shown.codes.tolist()))

    def render(self) -> str:
        return write_page(Results.read(self.results), self.read_starts())

    def read_starts(self) -> dict[str, Array]:
        """The divergences that starts have reached, by data set."""
        divergences: dict[str, list[float]] = {}
        with self._starts.open(newline="") as file:
            for row in csv.DictReader(file):
                divergences.setdefault(row["data_set"], []).append(float(row["divergence"]))
        return {name: np.array(values) for name, values in divergences.items()}

    @property
    def _starts(self) -> Path:
        return self.tables / "starts.csv"

    def _write_starts(self, outcomes: Mapping[Task, Result]) -> None:
        with self._starts.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["data_set", "seed", "divergence"])
            for task, divergences in outcomes.items():
                if isinstance(task, Starts):
                    writer.writerows([task.data_set, task.seed, round(value, DECIMALS)] for value in divergences)

    def _image(self, name: str, text: str) -> None:
        (self.pages / "images" / f"paper-{name}.svg").write_text(text)
