"""A model on a service."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from melm.command.model_source import Columns, beside, say_warnings
from melm.command.table_file import TableFile
from melm.remote import Client, Invalid, Model
from melm.remote.arrays import NPZ, read
from melm.remote.models import ModelAnswer
from melm.remote.table_body import TableBody
from service.errors import FieldError


class ServiceModel:
    """A `ModelSource`."""

    def __init__(self, url: str, id: str) -> None:
        self._model: Model = Client(url).models[id]
        self.id: str = self._model.describe()["id"]

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """The result of `predict` or `transform` for the rows of a file."""
        answer = self._ask(question, file, media_type)
        say_warnings(answer.warnings)
        return answer.content

    def predict(self, file: TableFile, media_type: str, columns: Columns) -> bytes:
        """Predicted labels, with the requested probabilities and densities."""
        from service.intake.formats import CODECS

        labels = self._ask("predict", file, NPZ)
        say_warnings(labels.warnings)
        found = read(labels.content)
        density = "true" if columns.log_density else None
        more = read(self._ask("predict_proba", file, NPZ, log_density=density).content)
        answer = beside(
            self.id,
            found["predictions"],
            more["classes"],
            more["probabilities"] if columns.probabilities else None,
            more["log_density"] if columns.log_density else None,
        )
        if "ids" in found:
            answer = replace(
                answer, arrays={**answer.arrays, "ids": found["ids"]}, columns=(*answer.columns, self._id_name())
            )
        return CODECS[media_type].encode(replace(answer, is_raw=True, warnings=tuple(labels.warnings)))

    def _id_name(self) -> str:
        """The column of ids: the only optional one."""
        schema = self._model.schema()
        return str(next(name for name in schema["properties"] if name not in schema["required"]))

    def score(self, file: TableFile) -> dict[str, Any]:
        """Scores of the model on labeled rows."""
        scores: dict[str, Any] = json.loads(self._ask("score", file, "application/json").content)
        say_warnings(scores.get("warnings") or ())
        return scores

    def plot(self) -> str:
        """The plot as SVG."""
        return self._model.plot()

    def plotted(self) -> dict[str, Any]:
        """The data of the plot."""
        return self._model.plotted()

    def describe(self) -> dict[str, Any]:
        """The model as a dict."""
        return self._model.describe()

    def report(self) -> str:
        """The card as an HTML document."""
        return self._model.report()

    def _ask(self, question: str, file: TableFile, media_type: str, **options: Any) -> ModelAnswer:
        body = TableBody(file.content, file.media_type)
        try:
            return self._model.ask(question, body, media_type, **written(file), **options)
        except Invalid as problem:
            raise file.explain(
                [FieldError(each.pointer, each.detail, each.advice, fixes=each.fixes) for each in problem.errors]
            ) from None


def written(file: TableFile) -> dict[str, Any]:
    """The given options for reading the file."""
    options = {name: getattr(file.written, name) for name in ("target", "delimiter", "decimal", "encoding", "sheet")}
    return {**options, "missing_values": list(file.written.missing_values)}
