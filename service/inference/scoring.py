"""How well a model does on rows whose labels are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from melm.evidence.evaluate import balanced_accuracy
from melm.model import Model
from melm.objective.divergence import divergence
from melm.typing import AnyArray, ShouldStop, never

SMALLEST_PROBABILITY = 1e-15  # of a log loss, where a model was sure and wrong


def score(model: Model, X: AnyArray, y: AnyArray, should_stop: ShouldStop = never) -> dict[str, Any]:
    """Accuracies, log loss, confusion, and the divergence of the classes among these rows."""
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
    """The divergence after the model's projection; None where these rows have none, as with a class of one row."""
    try:
        return divergence(X, y, model.projection, gamma=model.card.gamma)
    except ValueError:
        return None
