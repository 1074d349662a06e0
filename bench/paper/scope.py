"""How much of the comparison is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from bench.paper.entrants import ENTRANTS, MELM, PAPER_LIKE, PATH, PUBLIC_ENTRANTS, Entrant
from bench.paper.public_data import PUBLIC
from bench.paper.published import SHAPES
from bench.paper.strict import FOLDS
from bench.paper.tasks import (
    STARTS_AT_ONCE,
    HeldOut,
    Labels,
    PaperLikePipeline,
    PaperLikeSeparability,
    Picture,
    Starts,
    StrictPipeline,
    StrictSeparability,
    TableName,
    Task,
)

BOTH: tuple[Labels, ...] = ("true", "shuffled")
SHOWN = "heart"  # the data set that the paper draws
TABLES: tuple[TableName, ...] = ("separability", "pipeline", "held-out")


@dataclass(frozen=True)
class Scope:
    """Data sets, entrants, and how often all is repeated with other folds."""

    data_sets: tuple[str, ...] = tuple(SHAPES)
    entrants: tuple[Entrant, ...] = ENTRANTS
    tables: tuple[TableName, ...] = TABLES
    separability_repeats: int = 10  # of folds: the projection stays the same
    subsets: int = 4
    pipeline_repeats: int = 1
    held_out_repeats: int = 2
    n_starts: int = 500
    figures: bool = True  # of all methods and data sets: a part of these draws none

    def tasks(self) -> list[Task]:
        """All work, table after table."""
        tasks: list[Task] = []
        for entrant in self.entrants:
            for name in self.data_sets:
                tasks += [*self._strict(name, entrant), *self._paper_like(name, entrant)]
        if not self.figures:
            return tasks
        if SHOWN in self.data_sets:
            first_of_method = {entrant.method: entrant for entrant in reversed(self.entrants)}
            shown = [entrant for entrant in self.entrants if entrant in first_of_method.values()]
            tasks += [Picture(SHOWN, entrant) for entrant in shown if entrant.method != "identity"]
        return tasks + [Starts(name, s) for name in self.data_sets for s in range(self.n_starts // STARTS_AT_ONCE)]

    def _strict(self, name: str, entrant: Entrant) -> Iterator[Task]:
        # What shuffled labels give tells about methods, not about each way to tune MELM.
        if "separability" in self.tables:
            for labels in BOTH if entrant in (MELM, PATH) or entrant.method != MELM.method else BOTH[:1]:
                yield StrictSeparability(name, entrant, labels, self.separability_repeats)
        if "held-out" in self.tables and not entrant.grid and not entrant.parameters.keys() - {"regularization"}:
            for repeat, fold in product(range(self.held_out_repeats), range(FOLDS)):
                yield HeldOut(name, entrant, "true", repeat, fold)
        if "pipeline" in self.tables and not entrant.pictures_only:
            for labels in BOTH if entrant in (MELM, PATH) else BOTH[:1]:
                for repeat, fold in self._folds():
                    yield StrictPipeline(name, entrant, labels, repeat, fold)

    def _paper_like(self, name: str, entrant: Entrant) -> Iterator[Task]:
        if entrant not in PAPER_LIKE.values():
            return
        for labels in BOTH if entrant.method == MELM.method else BOTH[:1]:
            if "separability" in self.tables:
                for repeat in range(self.subsets):
                    yield PaperLikeSeparability(name, entrant, labels, repeat)
            if "pipeline" in self.tables:
                for repeat, fold in self._folds():
                    yield PaperLikePipeline(name, entrant, labels, repeat, fold)

    def _folds(self) -> Iterator[tuple[int, int]]:
        return product(range(self.pipeline_repeats), range(FOLDS))


FULL = Scope()
PUBLIC_SCOPE = Scope(tuple(PUBLIC), PUBLIC_ENTRANTS, ("separability", "held-out"), figures=False)
QUICK = Scope(
    data_sets=("heart", "liver-disorders", "sonar"),
    separability_repeats=3,
    subsets=2,
    held_out_repeats=1,
    n_starts=2 * STARTS_AT_ONCE,
)
