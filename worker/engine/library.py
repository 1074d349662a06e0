"""The interface of the runner to the numerical library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from melm.plan import Plan, Result, Unit
from melm.typing import AnyArray, Matrix
from worker.engine.units import Preview
from worker.store.records import DatasetRecord, FitRecord
from worker.store.table_part import TablePart


class Library(Protocol):
    """Plans fits, runs their units, serializes models. All methods are pure functions of their arguments."""

    def prepare(self, record: DatasetRecord, X: Matrix, y: AnyArray, part: TablePart | None) -> Any:
        """A dataset prepared for the other methods, as it is cached in memory."""
        ...

    def plan(self, fit: FitRecord, data: Any) -> Plan[Any]:
        """The plan of a fit's model."""
        ...

    def plan_evidence(self, fit: FitRecord, data: Any, file: bytes) -> Plan[Any]:
        """The plan of the evidence for a stored model, which ends in the model with its evidence."""
        ...

    def run(
        self, fit: FitRecord, data: Any, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> Sequence[Result]:
        """Run similar units together. Raises `Stopped` soon after `should_stop` returns True."""
        ...

    def preview(self, fit: FitRecord, data: Any, unit: Unit, result: Result) -> Preview | None:
        """A preview of the result of a unit, which is shown while the fit runs."""
        ...

    def dump(self, model: Any) -> tuple[bytes, dict[str, Any]]:
        """A model's file and its card."""
        ...
