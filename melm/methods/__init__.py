"""Projection methods with one interface, and the registry from which the HTTP interface, command line and page derive.

A method is a module of this package whose instance is named METHOD; there is no list to add it to. `import melm` does
not load this package.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy.typing as npt
from pydantic import BaseModel
from threadpoolctl import threadpool_limits

from melm.data.beyond_memory import is_beyond_memory, open_rows
from melm.data.labeled import Labeled
from melm.evidence import resampling
from melm.evidence.ceiling import run_ceiling
from melm.evidence.validation import Validation
from melm.evidence.verdict import judge_card
from melm.methods.base import Method
from melm.model import Model
from melm.model import file as model_file
from melm.plan import Plan, Result, Stage, Unit, run_plan, within
from melm.typing import Matrix


def discover() -> dict[str, Method[Any]]:
    """The methods of all modules in this package, by name; MELM first."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    methods: list[Method[Any]] = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {method.name: method for method in sorted(methods, key=lambda method: (method.name != "melm", method.name))}


METHODS = discover()


def plan_fit(method: str, data: Labeled, parameters: BaseModel, validation: Validation | None = None) -> Plan[Model]:
    """Plan a fit by the named method, with the requested evidence."""
    model = yield from plan_model(method, data, parameters, validation)
    if validation is None:
        return model
    as_stored = model_file.load(model_file.dump(model))  # as a service does, so that both give equal bits
    return (yield from plan_evidence(method, data, parameters, validation, as_stored))


def plan_model(method: str, data: Labeled, parameters: BaseModel, validation: Validation | None) -> Plan[Model]:
    """The first part of a fit: its final model, with a card that lists the evidence that is still missing."""
    share = 1.0 if validation is None else validation.share_of_model
    model = yield from within(METHODS[method].plan(data, parameters), 0, share)
    facts: dict[str, Any] = {"validation": None, "parameters": parameters.model_dump(mode="json")}
    if validation is not None:
        facts["missing_evidence"] = resampling.asked_evidence(validation)
    if data.permute_labels is not None:
        facts["permute_labels"] = data.permute_labels
    return _judged(replace(model, card=model.card.model_copy(update=facts)))


def plan_evidence(
    method: str, data: Labeled, parameters: BaseModel, validation: Validation, model: Model
) -> Plan[Model]:
    """The second part of a fit: its model with the requested evidence."""
    fit = partial(METHODS[method].plan, data, parameters)
    seed = parameters.model_dump()["seed"]
    evidence = resampling.plan_evidence(fit, data, validation, seed, model)
    return _judged((yield from within(evidence, validation.share_of_model, 1)))


def _judged(model: Model) -> Model:
    return replace(model, card=model.card.model_copy(update={"verdict": judge_card(model.card)}))


def run_unit(
    method: str, data: Labeled, parameters: BaseModel, unit: Unit, should_stop: Callable[[], bool] = lambda: False
) -> Result:
    """Run one unit of the plan of a fit. Raises `Stopped` soon after `should_stop` returns True."""
    return run_units(method, data, parameters, [unit], should_stop)[0]


def run_units(
    method: str, data: Labeled, parameters: BaseModel, units: Sequence[Unit], should_stop: Callable[[], bool]
) -> list[Result]:
    """Run units of the plan of a fit that are alike."""
    if "ceiling" in units[0].arguments:
        return [run_ceiling(data, unit) for unit in units]
    return METHODS[method].run_together(data, parameters, units, should_stop)


def fit(method: str, X: Matrix, y: npt.ArrayLike, *, validation: Validation | None = None, **parameters: Any) -> Model:
    """Fit by the named method, in this process. As for `melm.MELM`, rows may be larger than memory.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> fit("lda", X, y).transform(X).shape
    (150, 2)
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of {', '.join(METHODS)}.")
    checked = METHODS[method].Parameters.model_validate(parameters)
    data = open_rows(X, y, checked.model_dump()["seed"]) if is_beyond_memory(X) else Labeled.check(X, y)

    def run_stage(stage: Stage) -> Sequence[Result]:
        return [run_unit(method, data, checked, unit) for unit in stage.units]

    with threadpool_limits(1):
        return run_plan(plan_fit(method, data, checked, validation), run_stage)
