"""The search for the best projection: many starts, raced, as a plan of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from melm.covariance import CovarianceKind
from melm.objective import Form, WhitenedDivergence
from melm.optimize import RACE_EVALUATIONS, StartResult, StoppingReason, climb, race_survivors
from melm.plan import Fold, NothingFitted, Plan, Result, Stage, Unit
from melm.problem import Problem
from melm.starts import start_projection


@dataclass(frozen=True)
class Search:
    """How starts are run: everything but the data and the kernel width."""

    n_components: int
    n_starts: int
    covariance: CovarianceKind
    form: Form
    race: bool
    max_iterations: int
    tolerance: float
    seed: int

    def plan(self, gamma: float, folds: tuple[Fold, ...] = (), name: str = "") -> Plan[list[StartResult]]:
        """All starts, in order; those that gave nothing are left out. With a race, only its survivors are converged."""
        limit = RACE_EVALUATIONS if self.race else None
        results = yield Stage("starts", [self._unit(name, i, gamma, folds, limit) for i in range(self.n_starts)])
        starts = {i: self._start_result(i, result) for i, result in enumerate(results) if result is not None}
        if not starts:
            raise NothingFitted("No start gave a result.")
        if self.race:
            divergences = [starts[i].divergence if i in starts else None for i in range(self.n_starts)]
            survivors = [i for i in race_survivors(divergences) if starts[i].stopping_reason is StoppingReason.DROPPED]
            if survivors:
                units = [self._polish(name, starts[i], gamma, folds) for i in survivors]
                polished = yield Stage("polish", units)
                for i, result in zip(survivors, polished, strict=True):
                    if result is not None:
                        starts[i] = self._start_result(i, result, starts[i].n_evaluations)
        return [starts[i] for i in sorted(starts)]

    def run(self, problem: Problem, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan."""
        objective = WhitenedDivergence(problem, self.n_components, arguments["gamma"], self.form)
        V0 = arguments.get("projection")
        if V0 is None:
            V0 = start_projection(problem.whitening, self.n_components, self.seed, arguments["start"])
        end = climb(
            objective,
            V0,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            max_evaluations=arguments["max_evaluations"],
            should_stop=should_stop,
        )
        return {
            "projection": end.projection,
            "divergence": end.divergence,
            "n_evaluations": end.n_evaluations,
            "stopping_reason": str(end.stopping_reason),
        }

    def _unit(self, name: str, start: int, gamma: float, folds: tuple[Fold, ...], limit: int | None) -> Unit:
        arguments = {"start": start, "gamma": gamma, "max_evaluations": limit}
        return Unit(f"{name}start {start}", arguments, folds, start if not folds else None)

    def _polish(self, name: str, start: StartResult, gamma: float, folds: tuple[Fold, ...]) -> Unit:
        arguments: dict[str, Any] = {"start": start.index, "gamma": gamma, "max_evaluations": None}
        arguments["projection"] = start.projection
        return Unit(f"{name}polish {start.index}", arguments, folds, start.index if not folds else None)

    def _start_result(self, index: int, result: Result, evaluations_before: int = 0) -> StartResult:
        return StartResult(
            index=index,
            seed=self.seed,
            divergence=result["divergence"],
            n_evaluations=evaluations_before + result["n_evaluations"],
            stopping_reason=StoppingReason(result["stopping_reason"]),
            projection=result["projection"],
        )


def best_start(starts: Sequence[StartResult], scores: Sequence[float]) -> StartResult:
    """The start with the highest score; of equals, the first."""
    return starts[max(range(len(starts)), key=lambda i: (scores[i], -i))]
