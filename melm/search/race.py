"""The search for the best projection: many starts, raced, as a plan of units.

Large data sets are searched from coarse to fine. All starts race on a sample of the rows and the survivors converge
there; on each larger sample, and at last on all rows, the optima that differ are judged afresh and only the best climb
on. One optimum of a small sample is not to be trusted: it may be an accident of the rows that were drawn.

Asking for more starts never gives a worse best. Whether a start goes on depends only on itself and on the starts before
it, so all that are judged on all rows with few starts are judged there with more. The promise is about the divergence
on all rows: after convergence where there are no samples, and as judged before the last climb, which only raises it,
where there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from melm.data.covariance import CovarianceKind
from melm.data.problem import Problem
from melm.objective.beyond import divergence_on
from melm.objective.divergence import Form
from melm.objective.stack import DivergenceStack
from melm.plan import NothingFitted, Plan, Resamples, Result, Stage, Unit, within
from melm.search.climb import (
    RACE_EVALUATIONS,
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

GENEROSITY = 2  # how many times the gain of the best another optimum may be expected to make on all rows
MISLED = 0.05  # share of the divergence: optima of a sample that gain more on all rows were accidents of the sample
SAMPLE_TOLERANCE = 100  # times the tolerance on all rows: far below the noise of sampling
HOPELESS = 0.2  # share of the divergence that no climb on a larger sample was seen to make up for
SAME_OPTIMUM = 0.01  # sine of the angle between subspaces
SMALL_ROWS = 512  # up to here starts are evaluated together, over all pairs of rows: at most 2 ms for 16 projections
POLISH_EVALUATIONS = 10  # for each start, after a race; and CLIMB_EVALUATIONS on each larger sample.
CLIMB_EVALUATIONS = 20  # Both are typical: from them progress is estimated.


@dataclass(frozen=True)
class Search:
    """How starts are run: everything but the data and the kernel width."""

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
        """All starts on n_rows rows. With a race, only its survivors are converged, and samples go before all rows."""
        sizes = sample_sizes(n_rows, in_memory) if self.race else [n_rows]
        units = _Units(sizes, gamma, resamples, name, self._is_small(n_rows))
        found = Found()
        limit = RACE_EVALUATIONS if self.race else None
        raced, polished, *grown = self._shares(sizes)
        starting = self._step(found, units, "start", range(self.n_starts), sizes[0], limit)
        yield from within(starting, 0, raced)
        if not found.starts:
            raise NothingFitted("No start gave a result.")
        if self.race:
            survivors = found.survivors(range(self.n_starts))
            unfinished = [i for i in survivors if found.starts[i].stopping_reason is StoppingReason.DROPPED]
            yield from within(self._step(found, units, "polish", unfinished, sizes[0]), raced, polished)
            for size, begins, ends in zip(sizes[1:], [polished, *grown], grown, strict=False):
                judging = self._step(found, units, "judge", found.distinct(survivors), size, max_evaluations=1)
                yield from within(judging, begins, begins)
                survivors = found.hopeful()
                if size < n_rows:
                    yield from within(self._step(found, units, "polish", survivors, size), begins, ends)
                else:
                    yield from within(self._finish(found, units, size), begins, ends)
        return found

    def _shares(self, sizes: Sequence[int]) -> list[float]:
        """The share of the work that is done after the race, after its polish, and after each larger sample."""
        if not self.race:
            return [1.0, 1.0]
        on_first = [self.n_starts * RACE_EVALUATIONS, self.n_starts * POLISH_EVALUATIONS]
        work = [n * sizes[0] for n in on_first] + [CLIMB_EVALUATIONS * size for size in sizes[1:]]
        shares: list[float] = (np.cumsum(work) / sum(work)).tolist()
        return shares

    def _finish(self, found: Found, units: _Units, n_rows: int) -> Plan[None]:
        """The best converges on all rows, then others that a like gain could take above it.

        Where the gain is large, the sample has misled, and all of them converge; else they race, and a winner does.
        """
        judged = found.judged()
        best = best_start(judged, [start.divergence for start in judged])
        yield from within(self._step(found, units, "polish", [best.index], n_rows), 0, 0.5)
        reached = found.starts[best.index].divergence
        gain = reached - best.divergence
        others = [s.index for s in judged if s is not best and s.divergence + GENEROSITY * gain > reached]
        if gain > MISLED * reached:
            yield from within(self._step(found, units, "polish", others, n_rows), 0.5, 1)
        else:
            yield from within(self._step(found, units, "race", others, n_rows, RACE_EVALUATIONS), 0.5, 1)
            winner = max(others, key=lambda index: found.starts[index].divergence, default=best.index)
            if found.starts[winner].divergence > reached:
                yield from within(self._step(found, units, "polish", [winner], n_rows), 1, 1)

    def run(self, problem: Problem, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan. The result holds the divergence on all rows, or that on a sample of them."""
        return self.run_together(problem, [arguments], should_stop)[0]

    def run_together(
        self, problem: Problem, several: Sequence[Result], should_stop: Callable[[], bool]
    ) -> list[Result]:
        """Run some units that are alike. Few rows are evaluated for all starts at once.

        Bits do not depend on which units are run together, only on whether there are few rows.
        """
        if problem.everything is not None or "n_sampled" in several[0] or not self._is_small(sum(problem.counts)):
            return [self._climb(problem, arguments, should_stop) for arguments in several]
        ends = climb_together(
            DivergenceStack([problem], self.n_components, [several[0]["gamma"]]),
            [self._start(problem, arguments) for arguments in several],
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            max_evaluations=several[0]["max_evaluations"],
            should_stop=should_stop,
        )
        return [_result(end, "divergence") for end in ends]

    def _climb(self, problem: Problem, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        n_sampled = arguments.get("n_sampled")
        tolerance = self.tolerance
        if n_sampled is not None:
            problem, tolerance = sample(problem, n_sampled, self.seed), SAMPLE_TOLERANCE * self.tolerance
        objective = divergence_on(problem, self.n_components, arguments["gamma"], self.form)
        end = climb(
            Recording(objective, arguments, should_stop),
            self._start(problem, arguments),
            tolerance=tolerance,
            max_iterations=self.max_iterations,
            max_evaluations=arguments["max_evaluations"],
        )
        return _result(end, "divergence" if n_sampled is None else "sample_divergence")

    def _start(self, problem: Problem, arguments: Result) -> Array:
        """Where a unit begins to climb."""
        stands: Array | None = arguments.get("projection")
        if stands is not None:
            return stands
        return start_projection(problem.whitening, self.n_components, self.seed, arguments["start"])

    def _is_small(self, n_rows: int) -> bool:
        return n_rows <= SMALL_ROWS and self.form != "spectral"

    def _step(
        self,
        found: Found,
        units: _Units,
        action: str,
        indices: Sequence[int],
        n_rows: int,
        max_evaluations: int | None = None,
    ) -> Plan[None]:
        """One stage: some starts climb from where they stand, on all rows or a sample."""
        if indices:
            stage = units.stage(action, [(i, found.starts.get(i)) for i in indices], n_rows, max_evaluations)
            results = yield stage
            found.note(stage.name, n_rows, self.seed, dict(zip(indices, results, strict=True)))


@dataclass(frozen=True)
class StageCount:
    """What one stage of a search cost."""

    name: str
    n_rows: int
    n_starts: int
    n_evaluations: int


@dataclass
class Found:
    """Where the starts of a search stand; those that gave nothing are left out."""

    starts: dict[int, StartResult] = field(default_factory=dict)
    stages: list[StageCount] = field(default_factory=list)

    def note(self, stage: str, n_rows: int, seed: int, results: dict[int, Result | None]) -> None:
        """Where a stage took some starts. One that is missing stays where it stood."""
        arrived = {index: result for index, result in results.items() if result is not None}
        for index, result in arrived.items():
            before = self.starts[index].n_evaluations if index in self.starts else 0
            self.starts[index] = StartResult(
                index=index,
                seed=seed,
                divergence=result["divergence"] if "divergence" in result else result["sample_divergence"],
                n_rows=n_rows,
                n_evaluations=before + result["n_evaluations"],
                stopping_reason=StoppingReason(result["stopping_reason"]),
                projection=result["projection"],
            )
        n_evaluations = sum(result["n_evaluations"] for result in arrived.values())
        self.stages.append(StageCount(stage, n_rows, len(arrived), n_evaluations))

    def survivors(self, indices: Sequence[int]) -> list[int]:
        """Those of some starts that are among the best of themselves and the ones before them."""
        divergences = [self.starts[i].divergence if i in self.starts else None for i in indices]
        return [indices[position] for position in race_survivors(divergences)]

    def hopeful(self) -> list[int]:
        """Of the starts just judged, those that survive a race and do not lie hopelessly below one before them."""
        judged = self.judged()
        best = np.maximum.accumulate([start.divergence for start in judged])
        hopeless = {s.index for s, b in zip(judged, best, strict=True) if b - s.divergence > HOPELESS * abs(b)}
        return [i for i in self.survivors([start.index for start in judged]) if i not in hopeless]

    def distinct(self, indices: Sequence[int]) -> list[int]:
        """Some starts without those that arrived where one before them did."""
        bases: dict[int, Array] = {}
        for index in indices:
            basis = np.linalg.qr(self.starts[index].projection)[0]
            if all(_sine(basis, other) > SAME_OPTIMUM for other in bases.values()):
                bases[index] = basis
        return list(bases)

    def judged(self) -> list[StartResult]:
        """The starts that came to be judged on most rows: only their divergences can be compared."""
        most = max(start.n_rows for start in self.starts.values())
        return [start for start in self.in_order() if start.n_rows == most]

    def in_order(self) -> list[StartResult]:
        """All starts by their index."""
        return [self.starts[index] for index in sorted(self.starts)]


@dataclass(frozen=True)
class _Units:
    """Makes the units of one search: what they all share, and how they are named."""

    sizes: list[int]
    gamma: float
    resamples: Resamples
    name: str
    together: bool  # whether starts are climbed together

    def stage(
        self, action: str, starts: list[tuple[int, StartResult | None]], n_rows: int, max_evaluations: int | None
    ) -> Stage:
        where = "" if n_rows == self.sizes[0] else f" on {n_rows} rows"
        units = []
        for index, stands in starts:
            arguments: dict[str, Any] = {"start": index, "gamma": self.gamma, "max_evaluations": max_evaluations}
            if stands is not None:
                arguments["projection"] = stands.projection
            if n_rows < self.sizes[-1]:
                arguments["n_sampled"] = n_rows
            start = None if self.resamples else index
            name = f"{self.name}{action} {index}{where}"
            alike = (self.resamples, self.gamma, max_evaluations) if self.together else None
            units.append(Unit(name, arguments, self.resamples, start, alike, resumable=alike is None))
        return Stage(f"{action}{where}", units)


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
