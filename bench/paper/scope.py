"""How much of the comparison is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from bench.paper.entrants import ENTRANTS, MELM, PAPER_LIKE, PATH, Entrant
from bench.paper.published import SHAPES
from bench.paper.strict import FOLDS
from bench.paper.tasks import (
    STARTS_AT_ONCE,
    Labels,
    PaperLikePipeline,
    PaperLikeSeparability,
    Picture,
    Starts,
    StrictPipeline,
    StrictSeparability,
    Task,
)

BOTH: tuple[Labels, ...] = ("true", "shuffled")
SHOWN = "heart"  # the data set that the paper draws


@dataclass(frozen=True)
class Scope:
    """Data sets, entrants, and how often all is repeated with other folds."""

    data_sets: tuple[str, ...] = tuple(SHAPES)
    entrants: tuple[Entrant, ...] = ENTRANTS
    separability_repeats: int = 10  # of folds: the projection stays the same
    subsets: int = 4
    pipeline_repeats: int = 1
    n_starts: int = 500

    def tasks(self) -> list[Task]:
        """All work, table after table."""
        tasks: list[Task] = []
        for entrant in self.entrants:
            for name in self.data_sets:
                tasks += [*self._strict(name, entrant), *self._paper_like(name, entrant)]
        if SHOWN in self.data_sets:
            first_of_method = {entrant.method: entrant for entrant in reversed(self.entrants)}
            shown = [entrant for entrant in self.entrants if entrant in first_of_method.values()]
            tasks += [Picture(SHOWN, entrant) for entrant in shown if entrant.method != "identity"]
        return tasks + [Starts(name, s) for name in self.data_sets for s in range(self.n_starts // STARTS_AT_ONCE)]

    def _strict(self, name: str, entrant: Entrant) -> Iterator[Task]:
        # What shuffled labels give tells about methods, not about each way to tune MELM.
        for labels in BOTH if entrant in (MELM, PATH) or entrant.method != MELM.method else BOTH[:1]:
            yield StrictSeparability(name, entrant, labels, self.separability_repeats)
        if entrant.pictures_only:
            return
        for labels in BOTH if entrant in (MELM, PATH) else BOTH[:1]:
            for repeat, fold in self._folds():
                yield StrictPipeline(name, entrant, labels, repeat, fold)

    def _paper_like(self, name: str, entrant: Entrant) -> Iterator[Task]:
        if entrant not in PAPER_LIKE.values():
            return
        for labels in BOTH if entrant.method == MELM.method else BOTH[:1]:
            for repeat in range(self.subsets):
                yield PaperLikeSeparability(name, entrant, labels, repeat)
            for repeat, fold in self._folds():
                yield PaperLikePipeline(name, entrant, labels, repeat, fold)

    def _folds(self) -> Iterator[tuple[int, int]]:
        return product(range(self.pipeline_repeats), range(FOLDS))


FULL = Scope()
QUICK = Scope(
    data_sets=("heart", "liver-disorders", "sonar"),
    separability_repeats=3,
    subsets=2,
    n_starts=2 * STARTS_AT_ONCE,
)
