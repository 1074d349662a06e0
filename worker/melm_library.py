"""The methods of melm, in the shape that the runner needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from melm.methods import METHODS, plan_fit, run_unit

from melm import model_file
from melm.evaluate import Validation
from melm.model import Model
from melm.plan import Plan, Result, Unit
from worker.contract.records import FitRecord
from worker.library import Array


class MelmLibrary:
    """The methods of melm."""

    def plan(self, fit: FitRecord, X: Array, y: Array) -> Plan[Model]:
        """The plan of a fit."""
        validation = None if fit.validation is None else Validation(**fit.validation)
        return plan_fit(fit.method, X, y, _parameters(fit), validation)

    def run(self, fit: FitRecord, X: Array, y: Array, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        """What one unit gives."""
        return run_unit(fit.method, X, y, _parameters(fit), unit, should_stop)

    def dump(self, model: Model) -> tuple[bytes, dict[str, Any]]:
        """A model's file and its card."""
        return model_file.dump(model), model.card


def _parameters(fit: FitRecord) -> Any:
    return METHODS[fit.method].Parameters.model_validate(fit.params)
