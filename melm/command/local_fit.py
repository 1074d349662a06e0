"""A fit on this machine, which runs the same plan as workers."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from melm.command.failure import CommandError
from melm.data.labeled import Labeled
from melm.evidence.validation import Validation
from melm.methods import METHODS, plan_fit, run_units
from melm.model import Model
from melm.plan import Fold, NothingFitted, Result, Stage, Stopped, batches, run_plan

LAYOUT = "{desc} |{bar:24}| {percentage:3.0f}%{postfix}, {remaining} left"


def fit_locally(data: Labeled, ask: Mapping[str, Any]) -> Model:
    """Fit on this machine. The model is bit-identical to that of a service for the same request."""
    method = ask["method"]
    params = dict(ask["params"])
    budget = params.pop("time_budget_seconds", None)
    parameters = METHODS[method].Parameters.model_validate(params)
    if (seed := ask.get("permute_labels")) is not None:
        data = data.permuted(seed)
    judged = None if ask["validation"] is None else Validation(**ask["validation"])
    deadline = math.inf if budget is None else time.monotonic() + budget

    def is_over() -> bool:
        return time.monotonic() > deadline

    with threadpool_limits(1), progress() as show:

        def run_stage(stage: Stage) -> list[Result | None]:
            results: list[Result | None] = []
            for units in batches(stage.units):
                show(stage, len(results))
                try:
                    results += [None] * len(units) if is_over() else run_units(method, data, parameters, units, is_over)
                except Stopped:
                    results += [None] * len(units)
            return results

        try:
            return run_plan(plan_fit(method, data, parameters, judged), run_stage)
        except NothingFitted as error:
            spent = f"--time-budget-seconds {budget:g} is too little: " if is_over() else ""
            raise CommandError(f"{spent}{error}") from None
        except ValueError as error:
            raise CommandError(str(error)) from None


@contextmanager
def progress() -> Iterator[Callable[[Stage, int], None]]:
    """A function that shows the units of a stage that are done, in a progress bar if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        yield lambda stage, n_done: None
        return
    with tqdm(desc="search", total=1.0, bar_format=LAYOUT, leave=False, disable=None, file=sys.stderr) as bar:

        def show(stage: Stage, n_done: int) -> None:
            bar.n = stage.begins + (stage.ends - stage.begins) * n_done / len(stage.units)
            bar.set_description_str("search" if not stage.begins else "evidence", refresh=False)
            bar.set_postfix_str(describe(stage, n_done))

        yield show


def describe(stage: Stage, n_done: int) -> str:
    """The progress of a stage: in folds, if it has folds, else in units."""
    outermost = [unit.resamples[0] if unit.resamples else None for unit in stage.units]
    folds = list(dict.fromkeys(each for each in outermost if isinstance(each, Fold)))
    now = outermost[n_done]
    if isinstance(now, Fold) and stage.begins:
        return f"{stage.name}, fold {folds.index(now) + 1} of {len(folds)}"
    return f"{stage.name} {n_done + 1} of {len(stage.units)}"
