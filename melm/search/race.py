"""The search for the best projection: many starts, raced, as a plan of units.

All but small datasets are searched from coarse to fine. All starts race, and the survivors are run to convergence, on a
level where an evaluation is cheap: on a sample of many rows, else on all rows with potentials to a few digits. On each
larger sample, and finally on all rows in full accuracy, the distinct optima are evaluated again and only the best ones
climb on. A single optimum of a small sample is not reliable: it may be an artifact of the rows that were drawn.

More starts never give a worse best. Whether a start goes on depends only on itself and on the starts before it, so all
starts that reach the level of all rows in a short search also reach it in a longer one. This holds for the divergence
on all rows: after convergence for small datasets, else as evaluated before the last climb, which only raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from melm.data.covariance import CovarianceKind
from melm.data.prepared_rows import PreparedRows
from melm.objective.beyond import divergence_on
from melm.objective.divergence import SPECTRAL_COMPONENTS, SPECTRAL_TOLERANCE, Form
from melm.objective.stack import DivergenceStack
from melm.plan import NothingFitted, Plan, Resamples, Result, Stage, Unit, within
from melm.search.climb import (
    RACE_EVALUATIONS,
    RACE_SURVIVORS,
    Climb,
    StartResult,
    StoppingReason,
    climb,
    climb_together,
    race_survivors,
)
from melm.search.recording import Recording
from melm.search.sample import sample, sample_sizes
from melm.search.starts import start_projection
from melm.typing import Array

GENEROSITY = 2  # another optimum may gain so many times what the best one gains on all rows
MISLED = 0.05  # share of the divergence: optima of a sample that gain more on all rows were artifacts of the sample
COARSE_TOLERANCE = 1000  # times the tolerance of the last climb: far below the noise of sampling
COARSE_POTENTIALS = 1e-5  # relative to their peak: divergences to 1e-6, at half the cost of those to ten digits
HOPELESS = 0.2  # share of the divergence that no climb on a larger sample has made up in tests
SAME_OPTIMUM = 0.01  # sine of the angle between subspaces
SMALL_ROWS = 512  # up to here starts are evaluated together, over all pairs of rows: at most 2 ms for 16 projections
SECOND_RACE = 32  # more evaluations for the survivors of the first race, if each is expensive,
SECOND_SURVIVORS = 2  # and the number of survivors
POLISH_EVALUATIONS = 10  # typical for each start after a race, to estimate progress,
CLIMB_EVALUATIONS = 20  # and typical on each finer level


@dataclass(frozen=True)
class RaceLevel:
    """The rows and the accuracy of an evaluation. A search goes from coarse levels to all rows in full accuracy."""

    name: str  # suffix of the names of its stages
    n_rows: int
    is_sample: bool
    is_coarse: bool = True  # neither in full accuracy nor run until no step gains anything


@dataclass(frozen=True)
class Search:
    """The parameters of a search, except for the data and the kernel width."""

    n_components: int
    n_starts: int
    covariance: CovarianceKind
    ridge: float
    form: Form
    race: bool
    max_iterations: int
    tolerance: float
    seed: int

    def plan(
        self, n_rows: int, gamma: float, resamples: Resamples = (), name: str = "", in_memory: int | None = None
    ) -> Plan[Found]:
        """Run all starts on n_rows rows. With a race, only survivors are run to convergence, first on coarse levels."""
        levels = self._levels(n_rows, in_memory)
        units = _Units(gamma, resamples, name, self._is_small(n_rows))
        found = Found()
        limit = RACE_EVALUATIONS if self.race else None
        raced, polished, *grown = self._shares(levels)
        starting = self._step(found, units, "start", range(self.n_starts), levels[0], limit)
        yield from within(starting, 0, raced)
        if not found.starts:
            raise NothingFitted("No start gave a result.")
        if self.race:
            survivors = found.survivors(range(self.n_starts))
            survivors = yield from within(self._polish(found, units, survivors, levels[0]), raced, polished)
            for level, begins, ends in zip(levels[1:], [polished, *grown], grown, strict=False):
                judging = self._step(found, units, "judge", found.distinct(survivors), level, max_evaluations=1)
                yield from within(judging, begins, begins)
                survivors = found.hopeful()
                if level is not levels[-1]:
                    yield from within(self._step(found, units, "polish", survivors, level), begins, ends)
                else:
                    yield from within(self._finish(found, units, level), begins, ends)
        return found

    def _levels(self, n_rows: int, in_memory: int | None) -> list[RaceLevel]:
        """Levels from coarse to fine: samples, or else coarse potentials, then all rows (for few rows, only that)."""
        *samples, _ = sample_sizes(n_rows, in_memory) if self.race else [n_rows]
        levels = [
            RaceLevel(f" on {size} rows" if place else "", size, is_sample=True) for place, size in enumerate(samples)
        ]
        if self.race and not samples and not self._is_small(n_rows) and self._has_grids:
            levels = [RaceLevel("", n_rows, is_sample=False)]
        last = "" if not levels else f" on {n_rows} rows" if samples else " in full accuracy"
        return [*levels, RaceLevel(last, n_rows, is_sample=False, is_coarse=False)]

    def _polish(self, found: Found, units: _Units, survivors: list[int], level: RaceLevel) -> Plan[list[int]]:
        """Run the survivors of the race to convergence on the first level; only some if it already has all rows."""
        if level.is_coarse and not level.is_sample:
            yield from self._step(found, units, "race", found.dropped(survivors), level, SECOND_RACE)
            survivors = found.survivors(survivors, SECOND_SURVIVORS)
        yield from self._step(found, units, "polish", found.dropped(survivors), level)
        return survivors

    def _shares(self, levels: Sequence[RaceLevel]) -> list[float]:
        """The share of the work that is done after the race, after its polish, and after each finer level."""
        if not self.race:
            return [1.0, 1.0]
        on_first = [self.n_starts * RACE_EVALUATIONS, self.n_starts * POLISH_EVALUATIONS]
        work = [n * levels[0].n_rows for n in on_first] + [CLIMB_EVALUATIONS * level.n_rows for level in levels[1:]]
        shares: list[float] = (np.cumsum(work) / sum(work)).tolist()
        return shares

    def _finish(self, found: Found, units: _Units, level: RaceLevel) -> Plan[None]:
        """Run the best start to convergence on all rows, then others that a similar gain could take above it.

        If the gain is large, the sample was misleading, and all of them are run to convergence. Else they race first,
        and only a winner above the best start is run to convergence.
        """
        judged = found.judged()
        best = best_start(judged, [start.divergence for start in judged])
        yield from within(self._step(found, units, "polish", [best.index], level), 0, 0.5)
        reached = found.starts[best.index].divergence
        gain = reached - best.divergence
        others = [s.index for s in judged if s is not best and s.divergence + GENEROSITY * gain > reached]
        if gain > MISLED * reached:
            yield from within(self._step(found, units, "polish", others, level), 0.5, 1)
        else:
            yield from within(self._step(found, units, "race", others, level, RACE_EVALUATIONS), 0.5, 1)
            winner = max(others, key=lambda index: found.starts[index].divergence, default=best.index)
            if found.starts[winner].divergence > reached:
                yield from within(self._step(found, units, "polish", [winner], level), 1, 1)

    def run(self, prepared: PreparedRows, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan. The result has the divergence on all rows, or on a sample of them."""
        return self.run_together(prepared, [arguments], should_stop)[0]

    def run_together(
        self, prepared: PreparedRows, several: Sequence[Result], should_stop: Callable[[], bool]
    ) -> list[Result]:
        """Run units that are alike. With few rows, all starts are evaluated at once.

        Results depend on whether there are few rows, but not on which units are run together, bit for bit.
        """
        if prepared.everything is not None or "n_sampled" in several[0] or not self._is_small(sum(prepared.counts)):
            return [self._climb(prepared, arguments, should_stop) for arguments in several]
        ends = climb_together(
            DivergenceStack([prepared], self.n_components, [several[0]["gamma"]]),
            [self._start(prepared, arguments) for arguments in several],
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            max_evaluations=several[0]["max_evaluations"],
            should_stop=should_stop,
        )
        return [_result(end, "divergence") for end in ends]

    def _climb(self, prepared: PreparedRows, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        n_sampled = arguments.get("n_sampled")
        if n_sampled is not None:
            prepared = sample(prepared, n_sampled, self.seed)
        tolerance, potentials = self.tolerance, SPECTRAL_TOLERANCE
        if arguments.get("coarse"):
            prepared = prepared.rounded()
            tolerance, potentials = COARSE_TOLERANCE * tolerance, COARSE_POTENTIALS
        objective = divergence_on(prepared, self.n_components, arguments["gamma"], self.form, potentials)
        end = climb(
            Recording(objective, arguments, should_stop),
            self._start(prepared, arguments),
            tolerance=tolerance,
            max_iterations=self.max_iterations,
            max_evaluations=arguments["max_evaluations"],
        )
        return _result(end, "divergence" if n_sampled is None else "sample_divergence")

    def _start(self, prepared: PreparedRows, arguments: Result) -> Array:
        """The start of a unit's climb."""
        stands: Array | None = arguments.get("projection")
        if stands is not None:
            return stands
        return start_projection(prepared.whitening, self.n_components, self.seed, arguments["start"])

    @property
    def _has_grids(self) -> bool:
        return self.form != "exact" and self.n_components <= SPECTRAL_COMPONENTS

    def _is_small(self, n_rows: int) -> bool:
        return n_rows <= SMALL_ROWS and self.form != "spectral"

    def _step(
        self,
        found: Found,
        units: _Units,
        action: str,
        indices: Sequence[int],
        level: RaceLevel,
        max_evaluations: int | None = None,
    ) -> Plan[None]:
        """One stage: some starts climb on from their current points."""
        if indices:
            stage = units.stage(action, [(i, found.starts.get(i)) for i in indices], level, max_evaluations)
            results = yield stage
            found.note(stage.name, level, self.seed, dict(zip(indices, results, strict=True)))


@dataclass(frozen=True)
class StageCount:
    """The cost of one stage of a search."""

    name: str
    n_rows: int
    n_starts: int
    n_evaluations: int


@dataclass
class Found:
    """The current results of the starts of a search; starts without a result are left out."""

    starts: dict[int, StartResult] = field(default_factory=dict)
    stages: list[StageCount] = field(default_factory=list)
    levels: dict[int, RaceLevel] = field(default_factory=dict)  # the last level of each start

    def note(self, stage: str, level: RaceLevel, seed: int, results: dict[int, Result | None]) -> None:
        """Record the results of a stage. A start without a result keeps its previous one."""
        arrived = {index: result for index, result in results.items() if result is not None}
        for index, result in arrived.items():
            before = self.starts[index].n_evaluations if index in self.starts else 0
            self.starts[index] = StartResult(
                index=index,
                seed=seed,
                divergence=result["divergence"] if "divergence" in result else result["sample_divergence"],
                n_rows=level.n_rows,
                n_evaluations=before + result["n_evaluations"],
                stopping_reason=StoppingReason(result["stopping_reason"]),
                projection=result["projection"],
            )
            self.levels[index] = level
        n_evaluations = sum(result["n_evaluations"] for result in arrived.values())
        self.stages.append(StageCount(stage, level.n_rows, len(arrived), n_evaluations))

    def survivors(self, indices: Sequence[int], n_best: int = RACE_SURVIVORS) -> list[int]:
        """Those of these starts that are among the best of themselves and the ones before them."""
        divergences = [self.starts[i].divergence if i in self.starts else None for i in indices]
        return [indices[position] for position in race_survivors(divergences, n_best)]

    def dropped(self, indices: Sequence[int]) -> list[int]:
        """Those of these starts that reached the limit of evaluations before they converged."""
        return [i for i in indices if self.starts[i].stopping_reason is StoppingReason.DROPPED]

    def hopeful(self) -> list[int]:
        """Those of the judged starts that survive a race and are not far below one before them."""
        judged = self.judged()
        best = np.maximum.accumulate([start.divergence for start in judged])
        hopeless = {s.index for s, b in zip(judged, best, strict=True) if b - s.divergence > HOPELESS * abs(b)}
        return [i for i in self.survivors([start.index for start in judged]) if i not in hopeless]

    def distinct(self, indices: Sequence[int]) -> list[int]:
        """These starts without those that reached the same optimum as one before them."""
        bases: dict[int, Array] = {}
        for index in indices:
            basis = np.linalg.qr(self.starts[index].projection)[0]
            if all(_sine(basis, other) > SAME_OPTIMUM for other in bases.values()):
                bases[index] = basis
        return list(bases)

    def judged(self) -> list[StartResult]:
        """The starts that reached the finest level: only their divergences can be compared."""
        finest = max(self.levels.values(), key=lambda level: (level.n_rows, not level.is_coarse))
        return [start for start in self.in_order() if self.levels[start.index] == finest]

    def in_order(self) -> list[StartResult]:
        """All starts by their index."""
        return [self.starts[index] for index in sorted(self.starts)]


@dataclass(frozen=True)
class _Units:
    """Makes the units of one search, from shared arguments and a scheme of names."""

    gamma: float
    resamples: Resamples
    name: str
    together: bool  # whether starts are climbed together

    def stage(
        self, action: str, starts: list[tuple[int, StartResult | None]], level: RaceLevel, max_evaluations: int | None
    ) -> Stage:
        units = []
        for index, stands in starts:
            arguments: dict[str, Any] = {
                "start": index,
                "gamma": self.gamma,
                "max_evaluations": max_evaluations,
                "coarse": level.is_coarse,
            }
            if stands is not None:
                arguments["projection"] = stands.projection
            if level.is_sample:
                arguments["n_sampled"] = level.n_rows
            start = None if self.resamples else index
            name = f"{self.name}{action} {index}{level.name}"
            alike = (self.resamples, self.gamma, max_evaluations) if self.together else None
            units.append(Unit(name, arguments, self.resamples, start, alike, resumable=alike is None))
        return Stage(f"{action}{level.name}", units)


def best_start(starts: Sequence[StartResult], scores: Sequence[float]) -> StartResult:
    """The start with the highest score; of equals, the first."""
    return starts[max(range(len(starts)), key=lambda i: (scores[i], -i))]


def _result(end: Climb, divergence: str) -> Result:
    return {
        "projection": end.projection,
        divergence: end.divergence,
        "n_evaluations": end.n_evaluations,
        "stopping_reason": str(end.stopping_reason),
    }


def _sine(A: Array, B: Array) -> float:
    """Sine of the largest angle between two subspaces, given by orthonormal bases."""
    return float(np.linalg.norm(B - A @ (A.T @ B), 2))
