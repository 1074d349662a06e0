"""A fit as a plan: units of work that any process can run.

A plan is a generator. It yields stages (lists of independent units), is sent their results, and returns the outcome of
the fit. `run_plan` runs a plan in one process. The workers of a service replay it from stored results, so a plan must
depend on nothing but its arguments and the results that it is sent.

A unit that failed, was canceled or was interrupted gives None. The plan goes on with the results that it has, and
raises `NothingFitted` when there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Result: TypeAlias = dict[str, Any]  # JSON values and NumPy arrays
Plan: TypeAlias = Generator["Stage", Sequence[Result | None], T]


MOST_TOGETHER = 16  # units that are run in one call


class NothingFitted(RuntimeError):
    """No unit of a stage that the fit needs gave a result."""


class Stopped(Exception):
    """Raised inside a unit that is asked to stop. With `so_far` among its arguments it resumes where it stopped."""

    def __init__(self, so_far: Result | None = None) -> None:
        super().__init__()
        self.so_far = so_far


class RowsLost(RuntimeError):
    """The source of the rows no longer responds. With `so_far` among its arguments a unit resumes where it stopped."""

    so_far: Result | None = None


@dataclass(frozen=True)
class Selection:
    """Rows of a dataset, and their class codes."""

    rows: npt.NDArray[np.intp]
    codes: npt.NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """All rows but those of one stratified fold. Rows of one group stay together."""

    index: int
    n_folds: int
    seed: int

    def split(
        self, codes: npt.NDArray[np.intp], groups: npt.NDArray[Any] | None = None
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Indices of the training rows and of the held-out rows."""
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(self.n_folds, shuffle=True, random_state=self.seed % 2**32)
        train, held_out = list(splitter.split(np.zeros(len(codes)), codes, groups))[self.index]
        return train, held_out


@dataclass(frozen=True)
class Shuffle:
    """All rows with permuted labels, to see what a fit finds by chance."""

    seed: int


@dataclass(frozen=True)
class Bootstrap:
    """A bootstrap sample: as many rows of each class as it has, drawn with replacement."""

    seed: int


@dataclass(frozen=True)
class Sampled:
    """The sample of the rows that is in memory, on which choices are made. Used only if not all rows are in memory."""


Resample: TypeAlias = Fold | Shuffle | Bootstrap | Sampled
Resamples: TypeAlias = tuple[Resample, ...]  # each is applied to what the one before it gave
_KINDS: dict[str, type[Resample]] = {"fold": Fold, "shuffle": Shuffle, "bootstrap": Bootstrap, "sampled": Sampled}


def select(resamples: Resamples, codes: npt.NDArray[np.intp], groups: npt.NDArray[Any] | None = None) -> Selection:
    """The rows that nested resamples leave for training, and their labels; all of them where there are none."""
    chosen = Selection(np.arange(len(codes)), codes)
    for resample in resamples:
        if isinstance(resample, Fold):
            train = resample.split(chosen.codes, None if groups is None else groups[chosen.rows])[0]
            chosen = Selection(chosen.rows[train], chosen.codes[train])
        elif isinstance(resample, Shuffle):
            chosen = Selection(chosen.rows, np.random.default_rng(resample.seed).permutation(chosen.codes))
        elif isinstance(resample, Bootstrap):
            generator = np.random.default_rng(resample.seed)
            drawn = np.concatenate(
                [generator.choice(members, len(members)) for members in _members(chosen.codes) if len(members)]
            )
            chosen = Selection(chosen.rows[drawn], chosen.codes[drawn])
    return chosen


def hold_out(resamples: Resamples, codes: npt.NDArray[np.intp], groups: npt.NDArray[Any] | None = None) -> Selection:
    """The rows that the last resample, a fold, holds out, and their labels."""
    *outer, fold = resamples
    if not isinstance(fold, Fold):
        raise TypeError(f"{fold} holds out no rows.")
    given = select(tuple(outer), codes, groups)
    held_out = fold.split(given.codes, None if groups is None else groups[given.rows])[1]
    return Selection(given.rows[held_out], given.codes[held_out])


def resamples_to_json(resamples: Resamples) -> list[dict[str, Any]]:
    """Resamples as JSON values."""
    return [{"kind": type(resample).__name__.lower(), **asdict(resample)} for resample in resamples]


def resamples_from_json(stored: list[dict[str, Any]]) -> Resamples:
    """The inverse of `resamples_to_json`."""
    return tuple(_KINDS[fields["kind"]](**{k: v for k, v in fields.items() if k != "kind"}) for fields in stored)


def _members(codes: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    return [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]


@dataclass(frozen=True)
class Unit:
    """One piece of work: what its function needs beside the data, and the rows on which it works."""

    name: str  # unique within the fit
    arguments: Result = field(default_factory=dict)
    resamples: Resamples = ()
    start: int | None = None  # set where the unit finishes a start of the main search, for progress
    alike: tuple[object, ...] | None = None  # units for which this is equal take less time in one call
    resumable: bool = False  # whether it can be stopped and go on later


def batches(units: Sequence[Unit], at_most: int = MOST_TOGETHER) -> Iterator[Sequence[Unit]]:
    """Units grouped by call: neighbors that are alike are run together, all others alone."""
    begin = 0
    for end in range(1, len(units) + 1):
        alike = end < len(units) and units[end].alike is not None and units[end].alike == units[begin].alike
        if not alike or end - begin == at_most:
            yield units[begin:end]
            begin = end


@dataclass(frozen=True)
class Stage:
    """Units that may run in any order and at the same time."""

    name: str
    units: list[Unit]
    begins: float = 0.0  # the share of the plan's work that is done before this stage,
    ends: float = 1.0  # and after it: estimates, for progress


def within(plan: Plan[T], begins: float, ends: float) -> Plan[T]:
    """A plan as a part of a longer one, of whose work it does this share."""
    results: Sequence[Result | None] | None = None
    width = ends - begins
    while True:
        try:
            stage = next(plan) if results is None else plan.send(results)
        except StopIteration as end:
            outcome: T = end.value
            return outcome
        results = yield replace(stage, begins=begins + width * stage.begins, ends=begins + width * stage.ends)


def gather(plans: Sequence[Plan[T]]) -> Plan[list[T | None]]:
    """Run plans side by side: a stage holds the units of all unfinished ones. A plan that fits nothing gives None."""
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
        together = list(current.values())
        results = yield Stage(
            together[0].name,
            [unit for stage in together for unit in stage.units],
            min(stage.begins for stage in together),
            min(stage.ends for stage in together),
        )
        done = 0
        for index, stage in current.items():
            advance(index, results[done : done + len(stage.units)])
            done += len(stage.units)
    return outcomes


def run_plan(plan: Plan[T], run_stage: Callable[[Stage], Sequence[Result | None]]) -> T:
    """Run a plan to its end."""
    results: Sequence[Result | None] | None = None
    while True:
        try:
            stage = next(plan) if results is None else plan.send(results)
        except StopIteration as end:
            outcome: T = end.value
            return outcome
        results = run_stage(stage)
