"""A model in a file on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from melm.command.failure import CommandError
from melm.command.model_source import say_warnings
from melm.command.output import read_bytes
from melm.model import Model
from melm.model import file as model_file

if TYPE_CHECKING:
    from melm.command.table_file import TableFile


class LocalModel:
    """A `ModelSource`; what only some commands need is imported by them."""

    def __init__(self, path: str) -> None:
        try:
            self.model: Model = model_file.load(read_bytes(path))
        except model_file.ModelFileError as error:
            raise CommandError(f"{path}: {error}") from None
        self.id = path

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """What the model says to `predict` or `transform` about the rows of a file."""
        from service.intake.formats import CODECS, Answer
        from service.intake.rows import with_remarks

        rows = file.rows(self.model)
        say_warnings(rows.warnings)
        if question == "predict":
            answer = Answer({"predictions": self.model.predict(rows.X)}, ("prediction",), self.id)
        else:
            Z = self.model.transform(rows.X)
            answer = Answer({"Z": Z}, tuple(f"z{index}" for index in range(Z.shape[1])), self.id)
        return CODECS[media_type].encode(replace(with_remarks(answer, rows, self.model.id_name), is_raw=True))

    def score(self, file: TableFile) -> dict[str, Any]:
        """How well the model does on labeled rows."""
        from service.inference import scoring

        rows, y = file.labeled_rows(self.model)
        say_warnings(rows.warnings)
        return {"n_rows": len(y), "classes": self.model.classes.tolist(), **scoring.score(self.model, rows.X, y)}

    def plot(self) -> str:
        """A drawing, as SVG."""
        from service.pictures import plot

        return plot.draw(plot.describe(self.model, self.id))
