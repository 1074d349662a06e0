"""A fit, cut into units of work that any process can run.

A plan is a generator. It yields stages (lists of independent units), is sent what the units gave, and returns what
the fit leaves behind. The same plan is driven by `run_plan` in one process, and by the workers of a service, which
replay it from stored results: a plan depends on nothing but its arguments and on what it is sent.

A unit that was given up, canceled or cut off gives None. A plan goes on with what it has, and raises `NothingFitted`
when that is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Result: TypeAlias = dict[str, Any]  # JSON values and NumPy arrays
Plan: TypeAlias = Generator["Stage", Sequence[Result | None], T]


class NothingFitted(RuntimeError):
    """No unit of a stage that the fit cannot do without gave a result."""


class Stopped(Exception):
    """Raised inside a unit when it is told to stop."""


@dataclass(frozen=True)
class Fold:
    """The rows that a stratified fold leaves for training. Folds nest: an inner one divides what the outer one left."""

    index: int
    n_folds: int
    seed: int

    def split(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Indices of the training rows and of the held-out rows."""
        from sklearn.model_selection import StratifiedKFold

        splits = StratifiedKFold(self.n_folds, shuffle=True, random_state=self.seed).split(np.zeros(len(y)), y)
        train, held_out = list(splits)[self.index]
        return train, held_out


def training_rows(folds: tuple[Fold, ...], y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Indices of the rows that nested folds leave for training; all of them where there are no folds."""
    rows = np.arange(len(y))
    for fold in folds:
        rows = rows[fold.split(y[rows])[0]]
    return rows


def held_out_rows(folds: tuple[Fold, ...], y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Indices of the rows that the innermost fold holds out."""
    rows = training_rows(folds[:-1], y)
    return rows[folds[-1].split(y[rows])[1]]


@dataclass(frozen=True)
class Unit:
    """One piece of work: what its function needs beside the data, and the folds in which it works."""

    name: str  # unique within the fit
    arguments: Result = field(default_factory=dict)
    folds: tuple[Fold, ...] = ()
    start: int | None = None  # set where the unit finishes a start of the main search, for progress


@dataclass(frozen=True)
class Stage:
    """Units that may run in any order and at the same time."""

    name: str
    units: list[Unit]


def gather(plans: Sequence[Plan[T]]) -> Plan[list[T | None]]:
    """Run plans side by side: each stage holds the units of all that still go on. One that fits nothing gives None."""
    outcomes: list[T | None] = [None] * len(plans)
    stages: dict[int, Stage] = {}

    def advance(index: int, results: Sequence[Result | None] | None) -> None:
        stages.pop(index, None)
        try:
            stages[index] = next(plans[index]) if results is None else plans[index].send(results)
        except StopIteration as end:
            outcomes[index] = end.value
        except NothingFitted:
            pass

    for index in range(len(plans)):
        advance(index, None)
    while stages:
        current = dict(stages)
        results = yield Stage(next(iter(current.values())).name, [u for stage in current.values() for u in stage.units])
        done = 0
        for index, stage in current.items():
            advance(index, results[done : done + len(stage.units)])
            done += len(stage.units)
    return outcomes


def run_plan(plan: Plan[T], run_stage: Callable[[Stage], Sequence[Result | None]]) -> T:
    """Drive a plan to its end."""
    results: Sequence[Result | None] | None = None
    while True:
        try:
            stage = next(plan) if results is None else plan.send(results)
        except StopIteration as end:
            outcome: T = end.value
            return outcome
        results = run_stage(stage)
