"""Climbs that can be stopped and go on later.

A climb depends on its start and on what the objective gives, call by call. Whoever runs it again with the recorded
values arrives where it was stopped, bit for bit and at next to no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from melm.plan import Result, RowsLost, Stopped
from melm.typing import Array


class Climbable(Protocol):
    """What can be climbed."""

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """The value and its derivative at a projection of whitened coordinates."""


class Recording:
    """An objective whose values are recorded. `arguments` are the unit's, with the record of an earlier run of it."""

    def __init__(self, objective: Climbable, arguments: Result, should_stop: Callable[[], bool]) -> None:
        self._objective = objective
        self._record = list(arguments.get("evaluations", ()))
        self._should_stop = should_stop
        self.n_evaluations = 0

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """As recorded, then as the objective gives it. Raises `Stopped`, with the record, when told to stop."""
        if self.n_evaluations == len(self._record):
            if self._should_stop():
                raise Stopped({"evaluations": self._record})
            try:
                self._record.append(self._objective.value_and_gradient(V))
            except RowsLost as lost:
                lost.so_far = {"evaluations": self._record}
                raise
        value, gradient = self._record[self.n_evaluations]
        self.n_evaluations += 1
        return value, gradient
