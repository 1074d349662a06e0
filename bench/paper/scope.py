"""How much of the comparison is run."""

from __future__ import annotations

from dataclasses import dataclass

from bench.paper.entrants import ENTRANTS, MELM, Entrant
from bench.paper.published import SHAPES
from bench.paper.strict import FOLDS
from bench.paper.tasks import STARTS_AT_ONCE, Picture, Starts, StrictPipeline, StrictSeparability, Task

SHOWN = "heart"  # the data set that the paper draws


@dataclass(frozen=True)
class Scope:
    """Data sets, entrants, and how often all is repeated with other folds."""

    data_sets: tuple[str, ...] = tuple(SHAPES)
    entrants: tuple[Entrant, ...] = ENTRANTS
    separability_repeats: int = 10
    pipeline_repeats: int = 1
    n_starts: int = 500

    def tasks(self) -> list[Task]:
        """All work, table after table."""
        tasks: list[Task] = []
        for name in self.data_sets:
            for entrant in self.entrants:
                tasks += [
                    StrictSeparability(name, entrant, "true", self.separability_repeats),
                    StrictSeparability(name, entrant, "shuffled", self.separability_repeats),
                ]
                tasks += [
                    StrictPipeline(name, entrant, labels, repeat, fold)
                    for labels in (("true", "shuffled") if entrant == MELM else ("true",))
                    for repeat in range(self.pipeline_repeats)
                    for fold in range(FOLDS)
                ]
            tasks += [Starts(name, seed) for seed in range(self.n_starts // STARTS_AT_ONCE)]
        if SHOWN in self.data_sets:
            tasks += [Picture(SHOWN, entrant) for entrant in self.entrants if entrant.method != "identity"]
        return tasks


FULL = Scope()
QUICK = Scope(
    data_sets=("heart", "ionosphere", "liver-disorders", "sonar"), separability_repeats=3, n_starts=2 * STARTS_AT_ONCE
)
