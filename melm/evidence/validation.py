"""Is the separation real? The whole fit, repeated inside folds, and judged on rows that it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np
import numpy.typing as npt

from melm.data.labeled import Labeled
from melm.data.taken import Taken
from melm.density import ClassDensities
from melm.model import Model
from melm.model.card import ValidationResult
from melm.plan import Fold, Resamples
from melm.typing import Array, Matrix

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Validation:
    """How often a fit is repeated to judge it: in each of some folds, the whole some times over.

    On request also on `permutations` sets of permuted labels, folds and all, and on `bootstraps` bootstrap samples.
    With `ceiling`, gradient boosting on all features is judged on the same folds: what all columns can do.
    """

    folds: int = 5
    repeats: int = 1
    permutations: int = 0
    bootstraps: int = 0
    ceiling: bool = False

    def splits(self, data: Labeled, seed: int) -> list[Fold]:
        """The folds of all repeats; fewer per repeat where a class has fewer rows, or groups, than that."""
        n_folds = min(self.folds, _rarest(data))
        if n_folds < 2:
            return []
        return [Fold(i, n_folds, seed + repeat) for repeat in range(self.repeats) for i in range(n_folds)]

    def n_fits(self, n_splits: int) -> int:
        """How many times the whole fit is run, the one that is kept included: what the validation costs."""
        return (1 + n_splits) * (1 + self.permutations) + self.bootstraps

    @property
    def share_of_model(self) -> float:
        """Of the work of the whole fit, that for the model itself. A fold has fewer rows than there are."""
        others = (self.n_fits(self.folds * self.repeats) - 1) * (1 - 1 / self.folds)
        return 1 / (1 + others)


@dataclass(frozen=True)
class HeldOut:
    """Scores of the models of folds on the rows that they did not see."""

    scores: list[float]  # balanced accuracy, by fold
    confusion: npt.NDArray[np.intp]  # (C, C): rows by true class and predicted class
    weighed: Array  # (C, C), the same by weight
    n_folds: int

    @property
    def balanced_accuracy(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.scores))


def judge(
    data: Labeled, splits: Sequence[Fold], models: Sequence[Model | None], before: Resamples = ()
) -> HeldOut | None:
    """Held-out scores of the folds' models; None when a fold has no model. `before` was applied ahead of each fold."""
    fitted = [model for model in models if model is not None]
    if len(fitted) < len(splits) or not splits:
        return None
    tables = [
        data.tabulate((*before, fold), partial(_most_probable, model.densities, model.projection, model.offset))
        for fold, model in zip(splits, fitted, strict=True)
    ]
    scores, total = [table.balanced_accuracy for table in tables], reduce(add, tables)
    return HeldOut(scores, total.counts, total.weighed, splits[0].n_folds)


def _most_probable(densities: ClassDensities, projection: Array, offset: Array, X: Matrix) -> npt.NDArray[np.intp]:
    """Where the rows are, there is no need for the whole model."""
    return densities.most_probable(Taken.of(X).project(projection, offset))


def describe_validation(held_out: HeldOut) -> ValidationResult:
    """Held-out scores in a card's words."""
    n_classes = len(held_out.confusion)
    low, high = interval(np.array(held_out.scores), held_out.n_folds)
    return ValidationResult(
        folds=held_out.n_folds,
        repeats=len(held_out.scores) // held_out.n_folds,
        balanced_accuracy=held_out.balanced_accuracy,
        interval=[low, high],
        confidence=CONFIDENCE,
        scores=held_out.scores,
        recall_by_class=(np.diag(held_out.weighed) / held_out.weighed.sum(axis=1)).tolist(),
        confusion=held_out.confusion.tolist(),
        chance=1 / n_classes,
    )


def interval(scores: Array, n_folds: int) -> tuple[float, float]:
    """Confidence interval of a cross-validated mean, with Nadeau and Bengio's correction for shared training rows."""
    from scipy.stats import t

    spread = float(scores.std(ddof=1) * np.sqrt(1 / len(scores) + 1 / (n_folds - 1)))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, len(scores) - 1)) * spread
    return max(0.0, float(scores.mean()) - reach), min(1.0, float(scores.mean()) + reach)


def _rarest(data: Labeled) -> int:
    """Rows of the smallest class; where there are groups, the fewest groups in which a class is found."""
    if data.groups is None:
        return int(np.bincount(data.codes).min())
    return min(len(np.unique(data.groups[data.codes == code])) for code in range(len(data.classes)))
