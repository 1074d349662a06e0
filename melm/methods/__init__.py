"""Projection methods behind one protocol, and the one registry from which interface, command line and page derive.

Imported by those who offer methods by name; `import melm` alone does not load it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from melm.labelled import Labelled
from melm.methods.base import Method
from melm.methods.melm import MelmMethod
from melm.model import Model
from melm.plan import NothingFitted, Plan, Result, Unit, gather
from melm.validation import Validation, judge

METHODS: dict[str, Method[Any]] = {method.name: method for method in (MelmMethod(),)}


def plan_fit(method: str, data: Labelled, parameters: BaseModel, validation: Validation | None = None) -> Plan[Model]:
    """A fit by the named method, with the same fit inside validation folds beside it."""
    chosen = METHODS[method]
    splits = validation.splits(data, parameters.model_dump()["seed"]) if validation else []
    plans = [chosen.plan(data, parameters)]
    plans += [chosen.plan(data, parameters, (fold,), f"fold {fold.seed}.{fold.index} ") for fold in splits]
    model, *fold_models = yield from gather(plans)
    if model is None:
        raise NothingFitted("No unit of the fit gave a result.")
    held_out = judge(data, splits, fold_models) if splits else None
    return replace(model, card=model.card | {"parameters": parameters.model_dump(mode="json"), "validation": held_out})


def run_unit(
    method: str, data: Labelled, parameters: BaseModel, unit: Unit, should_stop: Callable[[], bool] = lambda: False
) -> Result:
    """Run one unit of a fit's plan. Raises `Stopped` soon after `should_stop` says so."""
    return METHODS[method].run(data, parameters, unit, should_stop)
