"""Climbs that can be stopped and resumed later.

A climb depends on its start and on the values of the objective only. Repeated with the recorded values, it returns to
the point where it was stopped, bit for bit and at almost no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from melm.plan import Result, RowsLost, Stopped
from melm.typing import Array


class Climbable(Protocol):
    """An objective that can be climbed."""

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """The value and its derivative at a projection of whitened coordinates."""


class Recording:
    """An objective whose values are recorded. `arguments` are those of the unit, with the record of its last run."""

    def __init__(self, objective: Climbable, arguments: Result, should_stop: Callable[[], bool]) -> None:
        self._objective = objective
        self._record: list[tuple[float, Array] | None] = list(arguments.get("evaluations", ()))
        self._should_stop = should_stop
        self.n_evaluations = 0

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """The next recorded value, or else a new one. Raises `Stopped`, with the record, when asked to stop."""
        return self._next(self._objective, V)

    def beside(self, objective: Climbable) -> Climbable:
        """Another objective of the same unit, with the same record."""
        return _Beside(partial(self._next, objective))

    def _next(self, objective: Climbable, V: Array) -> tuple[float, Array]:
        if self.n_evaluations == len(self._record):
            if self._should_stop():
                raise Stopped({"evaluations": self._record})
            try:
                self._record.append(_evaluation(objective, V))
            except RowsLost as lost:
                lost.so_far = {"evaluations": self._record}
                raise
        evaluation = self._record[self.n_evaluations]
        self.n_evaluations += 1
        if evaluation is None:
            raise np.linalg.LinAlgError
        value, gradient = evaluation
        return value, gradient


@dataclass(frozen=True)
class _Beside:
    value_and_gradient: Callable[[Array], tuple[float, Array]]


def _evaluation(objective: Climbable, V: Array) -> tuple[float, Array] | None:
    """Value and gradient; None, which is recorded as well, if no density can be computed."""
    try:
        return objective.value_and_gradient(V)
    except np.linalg.LinAlgError:
        return None
