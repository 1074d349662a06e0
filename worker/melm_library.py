"""The methods of melm, as the `Library` of the runner."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from melm.data.labeled import Labeled
from melm.evidence.validation import Validation
from melm.methods import METHODS, plan_evidence, plan_model, run_units
from melm.model import Model
from melm.model import file as model_file
from melm.plan import Plan, Result, Unit
from melm.typing import AnyArray, Matrix
from worker.engine.units import Preview
from worker.store.labeled_rows import as_labeled
from worker.store.records import DatasetRecord, FitRecord
from worker.store.table_part import TablePart


class MelmLibrary:
    """All methods, by their names."""

    def prepare(self, record: DatasetRecord, X: Matrix, y: AnyArray, part: TablePart | None) -> Labeled:
        """Labeled rows, which also cache what units compute from them."""
        return as_labeled(record.feature_names, X, y, part)

    def plan(self, fit: FitRecord, data: Labeled) -> Plan[Model]:
        """The plan of a fit's model."""
        validation = None if fit.validation is None else Validation(**fit.validation)
        return plan_model(fit.method, _labels_of(fit, data), _parameters(fit), validation)

    def plan_evidence(self, fit: FitRecord, data: Labeled, file: bytes) -> Plan[Model]:
        """The plan of the evidence for a stored model."""
        validation = Validation(**(fit.validation or {}))
        return plan_evidence(fit.method, _labels_of(fit, data), _parameters(fit), validation, model_file.load(file))

    def run(
        self, fit: FitRecord, data: Labeled, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> list[Result]:
        """Run similar units together."""
        return run_units(fit.method, _labels_of(fit, data), _parameters(fit), units, should_stop)

    def preview(self, fit: FitRecord, data: Labeled, unit: Unit, result: Result) -> Preview | None:
        """A preview of the result of a unit, in the form that the service returns."""
        data = _labels_of(fit, data)
        found = METHODS[fit.method].preview(data, _parameters(fit), unit, result)
        if found is None:
            return None
        shown = {
            "start": found.start,
            "divergence": found.divergence,
            "n_judged_rows": found.n_judged_rows,
            "classes": data.classes.tolist(),
            "rows": found.rows.tolist(),
            "codes": data.codes[found.rows].tolist(),
            "Z": [[float(f"{z:.6g}") for z in row] for row in found.positions.tolist()],
        }
        return Preview(found.n_judged_rows, found.divergence, json.dumps(shown).encode())

    def dump(self, model: Model) -> tuple[bytes, dict[str, Any]]:
        """A model's file and its card."""
        return model_file.dump(model), model.card.model_dump(mode="json", exclude_unset=True)


def _labels_of(fit: FitRecord, data: Labeled) -> Labeled:
    return data if fit.permute_labels is None else data.permuted(fit.permute_labels)


def _parameters(fit: FitRecord) -> Any:
    return _checked(fit.method, json.dumps(fit.params))


@lru_cache(maxsize=100)  # for fits that take turns
def _checked(method: str, params: str) -> Any:
    """Validated parameters, cached for all units of a fit."""
    given = json.loads(params)
    if method == "melm":
        given.setdefault("regularization", None)  # fits of 0.1, which had no other search, do not name it
    return METHODS[method].Parameters.model_validate(given)
