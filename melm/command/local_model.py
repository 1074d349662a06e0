"""A model in a file on this machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from melm.command.failure import CommandError
from melm.command.model_source import Columns, say_warnings
from melm.command.output import read_bytes
from melm.model import Model
from melm.model import file as model_file

if TYPE_CHECKING:
    from melm.command.table_file import TableFile
    from service.intake.formats import NamedArrays
    from service.intake.rows import ModelRows
    from service.schemas import ModelOut


class LocalModel:
    """A `ModelSource`; dependencies of single commands are imported by them."""

    def __init__(self, path: str) -> None:
        try:
            self.model: Model = model_file.load(read_bytes(path))
        except model_file.ModelFileError as error:
            raise CommandError(f"{path}: {error}") from None
        self.id = path

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """The result of `predict` or `transform` for the rows of a file."""
        from service.intake.formats import NamedArrays

        rows = file.rows(self.model)
        if question == "predict":
            answer = NamedArrays({"predictions": self.model.predict(rows.X)}, ("prediction",), self.id)
        else:
            Z = self.model.transform(rows.X)
            answer = NamedArrays({"Z": Z}, tuple(f"z{index}" for index in range(Z.shape[1])), self.id)
        return self._encode(answer, rows, media_type)

    def predict(self, file: TableFile, media_type: str, columns: Columns) -> bytes:
        """Predicted labels, with the requested probabilities and densities."""
        from melm.command.model_source import beside

        rows = file.rows(self.model)
        probabilities = self.model.predict_proba(rows.X) if columns.probabilities else None
        log_density = self.model.log_density(rows.X) if columns.log_density else None
        predictions = self.model.predict(rows.X)
        answer = beside(self.id, predictions, self.model.classes, probabilities, log_density)
        return self._encode(answer, rows, media_type)

    def _encode(self, answer: NamedArrays, rows: ModelRows, media_type: str) -> bytes:
        from service.intake.formats import CODECS
        from service.intake.rows import with_remarks

        say_warnings(rows.warnings)
        return CODECS[media_type].encode(replace(with_remarks(answer, rows, self.model.id_name), is_raw=True))

    def score(self, file: TableFile) -> dict[str, Any]:
        """Scores of the model on labeled rows."""
        from service.inference import scoring

        rows, y = file.labeled_rows(self.model)
        say_warnings(rows.warnings)
        return {"n_rows": len(y), "classes": self.model.classes.tolist(), **scoring.score(self.model, rows.X, y)}

    def plot(self) -> str:
        """The plot as SVG."""
        from service.pictures import plot

        return plot.draw(plot.describe(self.model, self.id))

    def plotted(self) -> dict[str, Any]:
        """The data of the plot."""
        from service.pictures import plot

        return plot.describe(self.model, self.id).model_dump(mode="json")

    def describe(self) -> dict[str, Any]:
        """The model as a dict, in the form of the service."""
        return self._out().model_dump(mode="json")

    def report(self) -> str:
        """The card as an HTML document."""
        from service.pictures import report

        return str(report.render(self._out(), self.model))

    def _out(self) -> ModelOut:
        from service.schemas import ModelOut
        from worker.store.records import ModelRecord

        content = read_bytes(self.id)
        record = ModelRecord(
            id=self.id,
            name=Path(self.id).stem,
            created_at=datetime.fromtimestamp(Path(self.id).stat().st_mtime, UTC),
            expires_at=None,
            metadata={},
            method=self.model.method,
            fit_id=None,
            dataset_id=None,
            n_bytes=len(content),
            digest=sha256(content).hexdigest(),
        )
        return ModelOut.with_card(record, self.model)
