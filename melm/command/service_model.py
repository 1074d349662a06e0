"""A model on a service."""

from __future__ import annotations

import json
from typing import Any

from melm.command.model_source import say_warnings
from melm.command.table_file import TableFile
from melm.remote import Client, Invalid, Model
from melm.remote.models import Answer
from melm.remote.table_body import TableBody
from service.errors import FieldError


class ServiceModel:
    """A `ModelSource`."""

    def __init__(self, url: str, id: str) -> None:
        self._model: Model = Client(url).models[id]
        self.id: str = self._model.describe()["id"]

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """What the model says to `predict` or `transform` about the rows of a file."""
        answer = self._ask(question, file, media_type)
        say_warnings(answer.warnings)
        return answer.content

    def score(self, file: TableFile) -> dict[str, Any]:
        """How well the model does on labeled rows."""
        scores: dict[str, Any] = json.loads(self._ask("score", file, "application/json").content)
        say_warnings(scores.get("warnings") or ())
        return scores

    def plot(self) -> str:
        """A drawing, as SVG."""
        return self._model.plot()

    def _ask(self, question: str, file: TableFile, media_type: str) -> Answer:
        body = TableBody(file.content, file.media_type)
        try:
            return self._model.ask(question, body, media_type, **written(file))
        except Invalid as problem:
            raise file.explain(
                [FieldError(each.pointer, each.detail, each.fix, fixes=each.fixes) for each in problem.errors]
            ) from None


def written(file: TableFile) -> dict[str, Any]:
    """How the file is written, as far as that was said."""
    options = {name: getattr(file.written, name) for name in ("target", "delimiter", "decimal", "encoding", "sheet")}
    return {**options, "missing_values": list(file.written.missing_values)}
