"""A model on a service."""

from __future__ import annotations

from typing import Any

import numpy as np

from melm.remote import Client, Model
from service.codecs.table import Array


class ServiceModel:
    """A `ModelSource`."""

    def __init__(self, url: str, id: str) -> None:
        self._model: Model = Client(url).models[id]
        found = self._model.describe()
        self.id: str = found["id"]
        self.n_features = len(found["projection"])
        self.feature_names: list[str] | None = found["feature_names"]
        self.classes: Array = np.array(found["classes"])

    def transform(self, X: Array) -> Array:
        """Rows in the projection."""
        return self._model.transform(X)

    def predict(self, X: Array) -> Array:
        """A label for each row."""
        return self._model.predict(X)

    def score(self, X: Array, y: Array) -> dict[str, Any]:
        """How well the model does on labeled rows."""
        return self._model.score(X, y)

    def plot(self) -> str:
        """A drawing, as SVG."""
        return self._model.plot()
