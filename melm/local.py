"""Running a plan on this machine: in this process, or spread over several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from threadpoolctl import threadpool_limits

from melm.extras import check_extra
from melm.plan import (
    MOST_TOGETHER,
    Fold,
    NothingFitted,
    Plan,
    Resample,
    Resamples,
    Result,
    RowsLost,
    Sampled,
    Shuffle,
    Stage,
    Unit,
    batches,
    run_plan,
)
from melm.search.climb import StoppingReason

T = TypeVar("T")
Task: TypeAlias = Callable[[], Sequence[Result]]
Tasks: TypeAlias = Callable[[Sequence[Unit]], Task]


@dataclass(frozen=True)
class Progress:
    """How far a fit has come. `best_divergence` is that of the main search, None before its first start ends."""

    stage: str
    units_done: int
    n_units: int
    best_divergence: float | None
    share: float = 0.0  # estimated share of the whole work that is done
    resamples: Resamples = ()  # on which the last unit worked: folds, permuted labels, bootstrap samples

    def __str__(self) -> str:
        return ", ".join([self.stage, *map(_describe, self.resamples)])


@dataclass
class UnitResults:
    """The results of the units of a fit, by name, from which another run of the same plan can resume."""

    results: dict[str, Result] = field(default_factory=dict)
    so_far: dict[str, Result] = field(default_factory=dict)  # partial results of interrupted units

    def known(self, units: Sequence[Unit]) -> list[Result] | None:
        """Earlier results of these units; None unless all of them have one."""
        found = [self.results[unit.name] for unit in units if unit.name in self.results]
        return found if len(found) == len(units) else None

    def run(self, units: Sequence[Unit], task: Tasks) -> Sequence[Result]:
        """Run units that are alike, each from where it was interrupted."""
        going_on = [replace(unit, arguments=unit.arguments | self.so_far.get(unit.name, {})) for unit in units]
        try:
            results = _single_threaded(task(going_on))
        except RowsLost as lost:
            if lost.so_far is not None and len(units) == 1:
                self.so_far[units[0].name] = lost.so_far
            raise
        self.results.update(zip([unit.name for unit in units], results, strict=True))
        return results


Callback: TypeAlias = Callable[[Progress], object]


def run_locally(
    plan: Plan[T], task: Tasks, n_jobs: int | None, callback: Callback | None, done: UnitResults | None = None
) -> T:
    """Run the plan to its end. `task` turns units that are alike into a function that another process can run.

    When the callback returns True, or at a KeyboardInterrupt, no further unit is run and the plan ends with the best
    result so far. Results in `done` are reused, and new ones are added to it. `RowsLost` says how far the fit got.
    """
    runner = _Runner(task, n_jobs, callback, UnitResults() if done is None else done)
    try:
        return run_plan(plan, runner.run_stage)
    except NothingFitted:
        if runner.interrupted:
            raise KeyboardInterrupt from None
        raise
    except RowsLost as lost:
        raise RowsLost(f"{lost} {runner.where()}") from lost


class _Runner:
    def __init__(self, task: Tasks, n_jobs: int | None, callback: Callback | None, done: UnitResults) -> None:
        self._task, self._n_jobs, self._callback, self._done = task, n_jobs, callback, done
        self._stage: Stage | None = None
        self._best: float | None = None
        self._ended = False
        self.interrupted = False

    def run_stage(self, stage: Stage) -> Sequence[Result | None]:
        results: list[Result | None] = []
        self._stage = stage
        try:
            for some in self._results(stage.units) if not self._ended else ():
                canceled = any(result.get("stopping_reason") == StoppingReason.CANCELED for result in some)
                for result in some:
                    results.append(result)
                    if not canceled and self._report(stage, results):
                        self._ended = True
                        return results + [None] * (len(stage.units) - len(results))
                if canceled:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            self._ended = self.interrupted = True
        return results + [None] * (len(stage.units) - len(results))

    def _results(self, units: Sequence[Unit]) -> Iterator[Sequence[Result]]:
        if self._n_jobs in (None, 1):
            for some in batches(units, MOST_TOGETHER):
                yield self._done.known(some) or self._done.run(some, self._task)
        else:
            from joblib import Parallel, delayed, effective_n_jobs

            share = -(-len(units) // effective_n_jobs(self._n_jobs))
            jobs = (delayed(_single_threaded)(self._task(some)) for some in batches(units, min(share, MOST_TOGETHER)))
            yield from Parallel(n_jobs=self._n_jobs, return_as="generator")(jobs)

    def where(self) -> str:
        """How far the search got, in words."""
        if self._stage is None:
            return "The search had not begun."
        units = [unit.name for unit in self._stage.units]
        n_done = sum(name in self._done.results for name in units)
        record = [self._done.so_far[name] for name in units if name in self._done.so_far and n_done < len(units)]
        begun = f" and {len(record[-1]['evaluations'])} evaluations of the next" if record else ""
        best = "" if self._best is None else f"; the best divergence so far is {self._best:.4g}"
        return f"The search stood at {self._stage.name!r}, with {n_done} of {len(units)} units done{begun}{best}."

    def _report(self, stage: Stage, results: list[Result | None]) -> bool:
        result, unit = results[-1], stage.units[len(results) - 1]
        divergence = result.get("divergence") if unit.start is not None and result is not None else None
        if divergence is not None:
            self._best = max(divergence, self._best if self._best is not None else divergence)
        if self._callback is None:
            return False
        n_done, n_units = len(results), len(stage.units)
        share = stage.begins + (stage.ends - stage.begins) * n_done / n_units
        return self._callback(Progress(stage.name, n_done, n_units, self._best, share, unit.resamples)) is True


def _single_threaded(task: Task) -> Sequence[Result]:
    """BLAS splits sums over its threads, so rounding depends on their number. One thread gives equal bits anywhere."""
    with threadpool_limits(1):
        return task()


@contextmanager
def progress_bar(callback: Callback | None) -> Iterator[Callback]:
    """A callback that shows stage, folds and time left, in terminals and notebooks, and calls the given one."""
    check_extra("client", "verbose=True")
    from tqdm.auto import tqdm  # imported here because it inspects the terminal on import

    layout = "{desc} |{bar}| {percentage:3.0f}% [{elapsed} so far, {remaining} left]"
    with tqdm(desc="fit", total=1.0, bar_format=layout) as bar:  # starts the clock

        def show(progress: Progress) -> object:
            bar.n = progress.share
            bar.set_description_str(str(progress))
            return None if callback is None else callback(progress)

        yield show


def _describe(resample: Resample) -> str:
    if isinstance(resample, Fold):
        return f"fold {resample.index + 1} of {resample.n_folds}"
    if isinstance(resample, Sampled):
        return "sample"
    return "permuted labels" if isinstance(resample, Shuffle) else "bootstrap sample"
