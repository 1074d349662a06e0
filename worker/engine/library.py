"""What the runner needs of a numerical library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from melm.plan import Plan, Result, Unit
from melm.typing import AnyArray, Matrix
from worker.engine.units import Preview
from worker.store.records import DatasetRecord, FitRecord
from worker.store.table_part import TablePart


class Library(Protocol):
    """Plans fits, runs their units, turns a model into bytes. All of it depends on its arguments alone."""

    def prepare(self, record: DatasetRecord, X: Matrix, y: AnyArray, part: TablePart | None) -> Any:
        """A dataset in the form in which it is kept in memory, and given to the other two."""
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
        """What units that are alike give. Raises `Stopped` soon after it is told to stop."""
        ...

    def preview(self, fit: FitRecord, data: Any, unit: Unit, result: Result) -> Preview | None:
        """What a unit has found, to be shown while the fit goes on."""
        ...

    def dump(self, model: Any) -> tuple[bytes, dict[str, Any]]:
        """A model's file and its card."""
        ...
