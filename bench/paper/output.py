"""What a run leaves: two CSV files, the page that is worked out from them, and its figures."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.paper import data_sets, figures
from bench.paper.page import write_page
from bench.paper.results import Line, Results
from bench.paper.tasks import Picture, Result, Scored, Starts, Task
from melm.typing import Array

DECIMALS = 6  # of a divergence


@dataclass(frozen=True)
class Output:
    """Where the files are."""

    tables: Path
    pages: Path

    @property
    def page(self) -> Path:
        return self.pages / "paper.md"

    def write(self, outcomes: Mapping[Task, Result], data: Path) -> None:
        """Everything. The page is made from the files, so that it never says more than they do."""
        self.tables.mkdir(parents=True, exist_ok=True)
        (self.pages / "images").mkdir(parents=True, exist_ok=True)
        self._write_results(outcomes)
        self._write_starts(outcomes)
        divergences = self.read_starts()
        self._image("histograms", figures.histograms(divergences))
        self._image("starts", figures.curves(divergences))
        pictures = {task: np.array(Z) for task, Z in outcomes.items() if isinstance(task, Picture)}
        if pictures:
            shown = data_sets.load(data, next(iter(pictures)).data_set)
            by_entrant = {task.entrant.name: Z for task, Z in pictures.items()}
            self._image(shown.name, figures.pictures(by_entrant, shown.codes.tolist()))
        self.page.write_text(self.render())

    def render(self) -> str:
        """The page, from the files."""
        return write_page(Results.read(self._results), self.read_starts())

    def read_starts(self) -> dict[str, Array]:
        """The divergences that starts have reached, by data set."""
        divergences: dict[str, list[float]] = {}
        with self._starts.open(newline="") as file:
            for row in csv.DictReader(file):
                divergences.setdefault(row["data_set"], []).append(float(row["divergence"]))
        return {name: np.array(values) for name, values in divergences.items()}

    @property
    def _results(self) -> Path:
        return self.tables / "results.csv"

    @property
    def _starts(self) -> Path:
        return self.tables / "starts.csv"

    def _write_results(self, outcomes: Mapping[Task, Result]) -> None:
        Results(
            Line(task.table, task.protocol, task.data_set, task.entrant.name, task.labels, **fields)
            for task, scores in outcomes.items()
            if isinstance(task, Scored)
            for fields in scores
        ).write(self._results)

    def _write_starts(self, outcomes: Mapping[Task, Result]) -> None:
        with self._starts.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["data_set", "seed", "divergence"])
            for task, divergences in outcomes.items():
                if isinstance(task, Starts):
                    writer.writerows([task.data_set, task.seed, round(value, DECIMALS)] for value in divergences)

    def _image(self, name: str, text: str) -> None:
        (self.pages / "images" / f"paper-{name}.svg").write_text(text)
