"""Scores of a model on labeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from melm.evidence.evaluate import balanced_accuracy
from melm.model import Model
from melm.objective.divergence import divergence
from melm.typing import AnyArray, ShouldStop, never

SMALLEST_PROBABILITY = 1e-15  # keeps the log loss finite if a model gives the true class no probability


def score(model: Model, X: AnyArray, y: AnyArray, should_stop: ShouldStop = never) -> dict[str, Any]:
    """Accuracies, log loss, confusion matrix, and the divergence of the classes among these rows."""
    n_classes = len(model.classes)
    codes = np.searchsorted(model.classes, y)
    probabilities = model.predict_proba(X, should_stop)
    predicted = probabilities.argmax(axis=1)
    confusion = np.zeros((n_classes, n_classes), int)
    np.add.at(confusion, (codes, predicted), 1)
    own = np.maximum(probabilities[np.arange(len(codes)), codes], SMALLEST_PROBABILITY)
    return {
        "balanced_accuracy": balanced_accuracy(codes, predicted),
        "accuracy": float((codes == predicted).mean()),
        "log_loss": float(-np.log(own).mean()),
        "confusion": confusion.tolist(),
        "divergence": divergence_of(model, X, y),
    }


def divergence_of(model: Model, X: AnyArray, y: AnyArray) -> float | None:
    """The divergence in the model's projection; None if it is undefined, for example for a class with one row."""
    try:
        return divergence(X, y, model.projection, gamma=model.card.gamma)
    except ValueError:
        return None
