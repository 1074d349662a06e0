"""Climbing the divergence: one start, and the race of many.

The paper's objective, D(V) minus the penalty |V^T V - I|^2, is climbed by L-BFGS in whitened coordinates. The penalty
changes no optimum (only the column space of V matters) and keeps the columns linearly independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from threading import Condition, Thread

import numpy as np
from scipy.optimize import minimize

from melm.objective.stack import DivergenceStack
from melm.plan import Stopped
from melm.search.recording import Climbable
from melm.typing import Array

RACE_EVALUATIONS = 16  # of every start, before their divergences are compared
RACE_SURVIVORS = 4
MEMORY = 20  # corrections that L-BFGS keeps
FLATNESS = 1e-3  # a step ends the climb when its relative gain is below tolerance times this
SIGNAL_SECONDS = 0.1  # delay until an interrupt is seen: once polars is used, signals do not end a wait


class StoppingReason(StrEnum):
    """Why a start ended."""

    CONVERGED = "converged"
    DROPPED = "dropped"
    MAX_ITERATIONS = "max_iterations"
    CANCELED = "canceled"
    OUT_OF_TIME = "out_of_time"
    ERROR = "error"


@dataclass(frozen=True)
class StartResult:
    """The result of one start."""

    index: int
    seed: int
    divergence: float  # on n_rows rows: all, or the sample on which the start was dropped
    n_rows: int
    n_evaluations: int
    stopping_reason: StoppingReason
    projection: Array  # (r, k), of whitened coordinates; empty in a loaded model, which stores only the best


@dataclass(frozen=True)
class Climb:
    """The best point of one run of the optimizer."""

    projection: Array  # (r, k)
    divergence: float
    n_evaluations: int
    stopping_reason: StoppingReason


def climb(
    objective: Climbable,
    V0: Array,
    *,
    tolerance: float,
    max_iterations: int,
    max_evaluations: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Climb:
    """Climb from V0 until the gradient falls below the tolerance or a limit is reached.

    Raises `Stopped` when `should_stop` returns True. A KeyboardInterrupt ends the climb at its current point.
    """

    def evaluate(V: Array) -> tuple[float, Array]:
        if should_stop():
            raise Stopped
        return objective.value_and_gradient(V)

    return _climb(evaluate, V0, tolerance, max_iterations, max_evaluations)


def climb_together(
    objective: DivergenceStack,
    starts: Sequence[Array],
    *,
    tolerance: float,
    max_iterations: int,
    max_evaluations: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    problems: Sequence[int] | None = None,
) -> list[Climb]:
    """Climb from several starts, with one joint evaluation for all that are still running.

    The course of a climb depends on its own start and problem only, bit for bit. `problems` says which of the problems
    of the objective each start belongs to.
    """
    meeting = _Meeting(objective, problems or [0] * len(starts), should_stop)
    ends: dict[int, Climb | BaseException] = {}

    def run(index: int) -> None:
        try:
            ends[index] = _climb(
                partial(meeting.evaluate, index), starts[index], tolerance, max_iterations, max_evaluations
            )
        except BaseException as error:
            ends[index] = error
        finally:
            meeting.leave()

    threads = [Thread(target=run, args=(index,), daemon=True) for index in range(len(starts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join(SIGNAL_SECONDS)
            except KeyboardInterrupt:
                meeting.interrupted = True
    failures = [end for end in ends.values() if isinstance(end, BaseException)]
    if failures:
        raise failures[0]
    return [end for _, end in sorted(ends.items()) if isinstance(end, Climb)]


class _Meeting:
    """A barrier at which the threads of several climbs wait: the last one to arrive evaluates the points of all."""

    def __init__(self, objective: DivergenceStack, problems: Sequence[int], should_stop: Callable[[], bool]) -> None:
        self.interrupted = False
        self._objective, self._problems, self._should_stop = objective, problems, should_stop
        self._n_climbing = len(problems)
        self._changed = Condition()
        self._points: dict[int, Array] = {}  # by start, of the waiting threads
        self._answers: dict[int, tuple[float, Array] | BaseException] = {}

    def evaluate(self, index: int, V: Array) -> tuple[float, Array]:
        """Value and gradient at the point of one start, as soon as the threads of all others have arrived."""
        with self._changed:
            self._points[index] = V
            self._evaluate_when_all_wait()
            self._changed.wait_for(lambda: index in self._answers)
            answer = self._answers.pop(index)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def leave(self) -> None:
        """One climb has ended."""
        with self._changed:
            self._n_climbing -= 1
            self._evaluate_when_all_wait()

    def _evaluate_when_all_wait(self) -> None:
        if self._points and len(self._points) == self._n_climbing:
            starts = sorted(self._points)
            self._answers.update(zip(starts, self._evaluate(starts), strict=True))
            self._points.clear()
            self._changed.notify_all()

    def _evaluate(self, starts: Sequence[int]) -> Sequence[tuple[float, Array] | BaseException]:
        """Value and gradient at the points of some starts, or the exception that was raised there."""
        try:
            if self.interrupted:
                raise KeyboardInterrupt
            if self._should_stop():
                raise Stopped
            V = np.stack([self._points[index] for index in starts])
            values, gradients = self._objective.values_and_gradients(V, [self._problems[index] for index in starts])
            return list(zip(values.tolist(), gradients, strict=True))
        except np.linalg.LinAlgError as error:
            return [error] if len(starts) == 1 else [self._evaluate([index])[0] for index in starts]
        except BaseException as error:
            return [error] * len(starts)


def _climb(
    evaluate: Callable[[Array], tuple[float, Array]],
    V0: Array,
    tolerance: float,
    max_iterations: int,
    max_evaluations: int | None,
) -> Climb:
    shape, identity = V0.shape, np.eye(V0.shape[1])
    best_height, best, n_evaluations = -np.inf, Climb(V0, -np.inf, 0, StoppingReason.ERROR), 0

    def height(flat: Array) -> tuple[float, Array]:
        nonlocal best_height, best, n_evaluations
        if max_evaluations is not None and n_evaluations >= max_evaluations:
            raise _OutOfEvaluations
        V = flat.reshape(shape)
        divergence, gradient = evaluate(V)
        n_evaluations += 1
        excess = V.T @ V - identity
        value = divergence - float(np.square(excess).sum())
        if value > best_height:
            best_height, best = value, Climb(V.copy(), divergence, n_evaluations, StoppingReason.MAX_ITERATIONS)
        return -value, (4 * V @ excess - gradient).ravel()

    try:
        end = minimize(
            height,
            V0.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxcor": MEMORY,
                "gtol": tolerance,
                "ftol": tolerance * FLATNESS,
                "maxiter": max_iterations,
                "maxfun": 20 * max_iterations,
            },
        )
        reason = StoppingReason.MAX_ITERATIONS if end.status == 1 else StoppingReason.CONVERGED
    except _OutOfEvaluations:
        reason = StoppingReason.DROPPED
    except np.linalg.LinAlgError:
        reason = StoppingReason.ERROR
    except KeyboardInterrupt:
        if n_evaluations == 0:
            raise
        reason = StoppingReason.CANCELED
    return Climb(best.projection, best.divergence, n_evaluations, reason)


def race_survivors(divergences: Sequence[float | None], n_best: int = RACE_SURVIVORS) -> list[int]:
    """The starts that are among the `n_best` best of themselves and all before them.

    Later starts do not change whether a start survives, so more starts never give a worse best.
    """
    survivors = []
    for index, divergence in enumerate(divergences):
        if divergence is not None:
            better = sum(other is not None and other > divergence for other in divergences[:index])
            if better < n_best:
                survivors.append(index)
    return survivors


class _OutOfEvaluations(Exception):
    pass
