"""A model in a file on this machine."""

from __future__ import annotations

from typing import Any

from melm import model_file
from melm.model import Model
from service.codecs.table import Array
from service.commands.failure import CommandError
from service.commands.table_file import read_bytes


class LocalModel:
    """A `ModelSource`; what only some commands need is imported by them."""

    def __init__(self, path: str) -> None:
        try:
            self.model: Model = model_file.load(read_bytes(path))
        except model_file.ModelFileError as error:
            raise CommandError(f"{path}: {error}") from None
        self.id = path
        self.n_features = len(self.model.projection)
        self.feature_names = self.model.feature_names
        self.classes: Array = self.model.classes

    def transform(self, X: Array) -> Array:
        """Rows in the projection."""
        return self.model.transform(X)

    def predict(self, X: Array) -> Array:
        """A label for each row."""
        return self.model.predict(X)

    def score(self, X: Array, y: Array) -> dict[str, Any]:
        """How well the model does on labeled rows."""
        from service import scoring

        return {"n_rows": len(X), "classes": self.classes.tolist(), **scoring.score(self.model, X, y)}

    def plot(self) -> str:
        """A drawing, as SVG."""
        from service import plot

        return plot.draw(plot.describe(self.model, self.id))
