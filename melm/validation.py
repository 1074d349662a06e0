"""Is the separation real? The whole fit, repeated inside folds, and judged on rows that it never saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from melm.evaluate import balanced_accuracy
from melm.labelled import Labelled
from melm.model import Model
from melm.plan import Fold, held_out_rows
from melm.rows import Array

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Validation:
    """How often a fit is repeated: in each of some folds, the whole some times over."""

    folds: int = 5
    repeats: int = 1

    def splits(self, data: Labelled, seed: int) -> list[Fold]:
        """The folds of all repeats; fewer per repeat where a class has fewer rows than that."""
        n_folds = min(self.folds, int(np.bincount(data.codes).min()))
        return [Fold(i, n_folds, seed + repeat) for repeat in range(self.repeats) for i in range(n_folds)]


def judge(data: Labelled, splits: list[Fold], models: list[Model | None]) -> dict[str, Any] | None:
    """Held-out scores of the folds' models, in a card's words; None when a fold has no model."""
    fitted = [model for model in models if model is not None]
    if len(fitted) < len(splits):
        return None
    scores, confusion = [], np.zeros((len(data.classes), len(data.classes)), dtype=int)
    for fold, model in zip(splits, fitted, strict=True):
        rows = held_out_rows((fold,), data.codes)
        predicted = model.densities.log_posteriors(model.transform(data.X[rows])).argmax(axis=1)
        scores.append(balanced_accuracy(data.codes[rows], predicted))
        np.add.at(confusion, (data.codes[rows], predicted), 1)
    low, high = interval(np.array(scores), splits[0].n_folds)
    recalls = np.diag(confusion) / confusion.sum(axis=1)
    return {
        "folds": splits[0].n_folds,
        "repeats": len(splits) // splits[0].n_folds,
        "balanced_accuracy": float(np.mean(scores)),
        "interval": [low, high],
        "confidence": CONFIDENCE,
        "scores": scores,
        "recall_by_class": recalls.tolist(),
        "confusion": confusion.tolist(),
        "chance": 1 / len(data.classes),
    }


def interval(scores: Array, n_folds: int) -> tuple[float, float]:
    """Confidence interval of a cross-validated mean, with Nadeau and Bengio's correction for shared training rows."""
    from scipy.stats import t

    spread = float(scores.std(ddof=1) * np.sqrt(1 / len(scores) + 1 / (n_folds - 1)))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, len(scores) - 1)) * spread
    return max(0.0, float(scores.mean()) - reach), min(1.0, float(scores.mean()) + reach)
