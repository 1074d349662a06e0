"""The ceiling: the score of gradient boosting on all features, to compare the score of a projection with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from melm.data.labeled import Labeled
from melm.data.taken import is_sparse
from melm.evidence.evaluate import balanced_accuracy
from melm.model.card import Ceiling
from melm.plan import Fold, NothingFitted, Plan, Result, Stage, Unit

MAX_ROWS = 20_000  # training rows of gradient boosting
MAX_FEATURES = 1_000
MAX_CLASSES = 20  # gradient boosting grows a tree for each class in each round


def is_affordable(data: Labeled) -> bool:
    """Whether gradient boosting takes no longer than about the time of a fit."""
    return not is_sparse(data.X) and data.X.shape[1] <= MAX_FEATURES and len(data.classes) <= MAX_CLASSES


def plan_ceiling(splits: Sequence[Fold]) -> Plan[Ceiling]:
    """The score of gradient boosting on the folds of one repeat."""
    folds = splits[: splits[0].n_folds]
    units = [Unit(f"ceiling fold {fold.seed}.{fold.index}", {"ceiling": True}, (fold,)) for fold in folds]
    results = yield Stage("ceiling", units)
    scores = [result["score"] for result in results if result is not None]
    if len(scores) < len(folds):
        raise NothingFitted("A fold of the ceiling gave no result.")
    return Ceiling(method="gradient boosting on all features", balanced_accuracy=float(np.mean(scores)), scores=scores)


def run_ceiling(data: Labeled, unit: Unit) -> Result:
    """The score on the held-out rows of one fold."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    chosen = data.select(unit.resamples)
    X, codes = data.training(unit.resamples)
    rows = np.linspace(0, len(codes) - 1, min(len(codes), MAX_ROWS)).astype(np.intp)
    weights = None if data.weights is None else data.weights[chosen.rows][rows]
    # With the default of 20 rows in a leaf, it could learn nothing about small classes.
    smallest = min(20, max(2, int(np.bincount(codes[rows]).min()) // 5))
    boosting = HistGradientBoostingClassifier(
        min_samples_leaf=smallest, class_weight="balanced", early_stopping=False, random_state=0
    ).fit(X[rows], codes[rows], weights)
    X, codes = data.held_out(unit.resamples)
    return {"score": balanced_accuracy(codes, boosting.predict(X), data.held_out_weights(unit.resamples))}
