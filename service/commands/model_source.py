"""A model that commands can ask: in a file on this machine, or on a service."""

from __future__ import annotations

import argparse
from typing import Any, Protocol

from service.codecs.table import Array


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
    if options.url is None:
        from service.commands.local_model import LocalModel

        return LocalModel(options.model)
    from service.commands.service_model import ServiceModel

    return ServiceModel(options.url, options.model)
