"""A model that commands can ask: in a file on this machine, or on a service."""

from __future__ import annotations

import argparse
from typing import Any, Protocol

import numpy as np

from melm import model_file
from melm.model import Model
from melm.remote import Client
from melm.remote import Model as RemoteModel
from service import plot, scoring
from service.codecs.table import Array
from service.commands.failure import CommandError
from service.commands.table_file import read_bytes


class ModelSource(Protocol):
    """What commands ask of a model, wherever it is."""

    id: str
    n_features: int
    feature_names: list[str] | None
    classes: Array

    def transform(self, X: Array) -> Array:
        """Rows in the projection."""

    def predict(self, X: Array) -> Array:
        """A label for each row."""

    def score(self, X: Array, y: Array) -> dict[str, Any]:
        """How well the model does on labeled rows."""

    def plot(self) -> str:
        """A drawing, as SVG."""


def open_model(options: argparse.Namespace) -> ModelSource:
    """The model that `options` name."""
    return LocalModel(options.model) if options.url is None else ServiceModel(options.url, options.model)


class LocalModel:
    """A model in a file."""

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
        return {"n_rows": len(X), "classes": self.classes.tolist(), **scoring.score(self.model, X, y)}

    def plot(self) -> str:
        """A drawing, as SVG."""
        return plot.draw(plot.describe(self.model, self.id))


class ServiceModel:
    """A model on a service."""

    def __init__(self, url: str, id: str) -> None:
        self._model: RemoteModel = Client(url).models[id]
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
