"""A fit on this machine: the plan that workers would run, run here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from melm.command.failure import CommandError
from melm.data.labeled import Labeled
from melm.evidence.validation import Validation
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import Model
from melm.plan import Result, Stage, Unit, run_plan


def fit_locally(method: str, data: Labeled, params: dict[str, Any], validation: dict[str, Any] | None) -> Model:
    """The model that a service would make of the same rows and parameters, bit for bit."""
    if method not in METHODS:
        raise CommandError(f"{method!r} is no method; methods: {', '.join(METHODS)}")
    try:
        parameters = METHODS[method].Parameters.model_validate(params)
    except ValidationError as error:
        first = error.errors()[0]
        raise CommandError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    def run_stage(stage: Stage) -> list[Result]:
        return [run_unit(method, data, parameters, unit) for unit in shown(stage)]

    judged = None if validation is None else Validation(**validation)
    try:
        with threadpool_limits(1):
            return run_plan(plan_fit(method, data, parameters, judged), run_stage)
    except ValueError as error:
        raise CommandError(str(error)) from None


def shown(stage: Stage) -> Iterable[Unit]:
    """The units of a stage, with a bar for people where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return stage.units
    return tqdm(stage.units, desc=stage.name, leave=False, disable=None, file=sys.stderr)
