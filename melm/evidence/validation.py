"""Cross-validation: the whole fit is repeated on the training rows of each fold and scored on held-out rows."""

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
    """How a fit is validated: by cross-validation with `folds` folds, repeated `repeats` times.

    Optionally, fit and cross-validation are also run on permuted labels, `permutations` times, and the fit on
    `bootstraps` bootstrap samples. With `ceiling`, gradient boosting on all features is scored on the same folds.
    """

    folds: int = 5
    repeats: int = 1
    permutations: int = 0
    bootstraps: int = 0
    ceiling: bool = False

    def splits(self, data: Labeled, seed: int) -> list[Fold]:
        """The folds of all repeats; fewer in a repeat if a class has fewer rows, or groups, than `folds`."""
        n_folds = min(self.folds, _rarest(data))
        if n_folds < 2:
            return []
        return [Fold(i, n_folds, seed + repeat) for repeat in range(self.repeats) for i in range(n_folds)]

    def n_fits(self, n_splits: int) -> int:
        """The cost of the validation: how many times the whole fit is run, including the fit of the model."""
        return (1 + n_splits) * (1 + self.permutations) + self.bootstraps

    @property
    def share_of_model(self) -> float:
        """The share of the total work that the fit of the model takes. Fits of folds have fewer rows."""
        others = (self.n_fits(self.folds * self.repeats) - 1) * (1 - 1 / self.folds)
        return 1 / (1 + others)


@dataclass(frozen=True)
class HeldOut:
    """Scores of the models of the folds on their held-out rows."""

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
    """Held-out scores of the models of the folds; None if a fold has no model. Resamples `before` precede each fold."""
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
    """The predicted classes. A function of its own, so that the whole model is not sent to where the rows are."""
    return densities.most_probable(Taken.of(X).project(projection, offset))


def describe_validation(held_out: HeldOut) -> ValidationResult:
    """Held-out scores as a part of the card."""
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
    """The number of rows of the smallest class; with groups, the smallest number of groups that contain a class."""
    if data.groups is None:
        return int(np.bincount(data.codes).min())
    return min(len(np.unique(data.groups[data.codes == code])) for code in range(len(data.classes)))
