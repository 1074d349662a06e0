"""Climbing the divergence: one start, and the race of many.

The paper's objective, D(V) minus the penalty |V^T V - I|^2, is climbed by L-BFGS in whitened coordinates. The penalty
changes no optimum (only the column space of V matters) and keeps the columns apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.optimize import minimize

from melm.objective.divergence import WhitenedDivergence
from melm.plan import Stopped
from melm.typing import Array

RACE_EVALUATIONS = 16  # what every start may spend before the race is judged
RACE_SURVIVORS = 4
MEMORY = 20  # corrections that L-BFGS keeps
FLATNESS = 1e-3  # a step ends the climb when its relative gain is below tolerance times this


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
    """Where one start arrived."""

    index: int
    seed: int
    divergence: float  # on n_rows rows: all, or the sample on which the start was dropped
    n_rows: int
    n_evaluations: int
    stopping_reason: StoppingReason
    projection: Array  # (r, k), of whitened coordinates; empty where a model was loaded, which keeps the best one only


@dataclass(frozen=True)
class Climb:
    """The best point of one run of the optimizer."""

    projection: Array  # (r, k)
    divergence: float
    n_evaluations: int
    stopping_reason: StoppingReason


def climb(
    objective: WhitenedDivergence,
    V0: Array,
    *,
    tolerance: float,
    max_iterations: int,
    max_evaluations: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Climb:
    """Climb from V0 until the gradient falls below the tolerance or a limit is met.

    Raises `Stopped` when `should_stop` says so. A KeyboardInterrupt ends the climb where it stands.
    """
    shape, identity = V0.shape, np.eye(V0.shape[1])
    best_height, best, n_evaluations = -np.inf, Climb(V0, -np.inf, 0, StoppingReason.ERROR), 0

    def height(flat: Array) -> tuple[float, Array]:
        nonlocal best_height, best, n_evaluations
        if should_stop():
            raise Stopped
        if max_evaluations is not None and n_evaluations >= max_evaluations:
            raise _OutOfEvaluations
        V = flat.reshape(shape)
        divergence, gradient = objective.value_and_gradient(V)
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


def race_survivors(divergences: Sequence[float | None]) -> list[int]:
    """Starts that are among the best of themselves and all before them.

    What survives does not depend on later starts, so asking for more starts never gives a worse best.
    """
    survivors = []
    for index, divergence in enumerate(divergences):
        if divergence is not None:
            better = sum(other is not None and other > divergence for other in divergences[:index])
            if better < RACE_SURVIVORS:
                survivors.append(index)
    return survivors


class _OutOfEvaluations(Exception):
    pass
