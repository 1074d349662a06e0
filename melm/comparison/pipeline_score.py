"""The score of a whole pipeline, projection and classifier, on rows that neither of them has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from melm.comparison.classifiers import GRIDS, ClassifierName, Codes, Settings, train
from melm.data.labeled import Labeled, check_option, check_whole
from melm.evidence.evaluate import balanced_accuracy
from melm.evidence.validation import Validation, interval
from melm.methods import METHODS, fit
from melm.plan import Fold
from melm.typing import Array

LEAST_ROWS = 4  # of a class: with fewer, nested folds have fewer than two of them


@dataclass(frozen=True)
class FoldChoice:
    """What was chosen by inner folds of the training rows of one fold."""

    parameters: Mapping[str, Any]  # of the projection
    settings: Settings  # of the classifier


@dataclass(frozen=True)
class PipelineScore:
    """Held-out balanced accuracy."""

    scores: list[float]  # by fold, repeat after repeat
    choices: list[FoldChoice]  # by fold
    interval: tuple[float, float]  # 95 % confidence, corrected for the training rows that folds share

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))


def pipeline_score(
    method: str,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    classifier: ClassifierName = "kde",
    grid: Mapping[str, Sequence[Any]] | None = None,
    folds: int = 5,
    inner_folds: int = 3,
    repeats: int = 1,
    seed: int = 0,
    **parameters: Any,
) -> PipelineScore:
    """Cross-validate projection and classifier together, with all choices made inside the training rows of each fold.

    `grid` has values of the parameters of the projection to choose from. By default it is that of the method: gamma for
    MELM, ridge for GEM, none for the others. The settings of the classifier are chosen with them, from
    `melm.comparison.classifiers.GRIDS`, by inner folds of the training rows in which both are fitted. `parameters` are
    fixed parameters of the projection.
    """
    check_option("method", method, list(METHODS))
    check_option("classifier", classifier, get_args(ClassifierName))
    check_whole("folds", folds, 2)
    check_whole("inner_folds", inner_folds, 2)
    data = Labeled.check(X, y)
    rarest = int(np.bincount(data.codes).min())
    if rarest < LEAST_ROWS:
        raise ValueError(f"Nested folds need at least {LEAST_ROWS} rows of every class, the smallest has {rarest}.")
    pipeline = _Pipeline(method, {"seed": seed} | parameters, classifier)
    candidates = _candidates(METHODS[method].grid if grid is None else grid)
    splits = Validation(folds, check_whole("repeats", repeats, 1)).splits(data, seed)
    scores, choices = [], []
    for fold in splits:
        shown, hidden = fold.split(data.codes)
        choice = pipeline.choose(data.X[shown], data.codes[shown], candidates, inner_folds, seed)
        held_out = pipeline.judge(data.X, data.codes, shown, hidden, choice.parameters, [choice.settings])
        scores += held_out
        choices.append(choice)
    return PipelineScore(scores, choices, interval(np.array(scores), splits[0].n_folds))


@dataclass(frozen=True)
class _Pipeline:
    method: str
    parameters: Mapping[str, Any]
    classifier: ClassifierName

    def choose(self, X: Array, codes: Codes, candidates: list[dict[str, Any]], n_folds: int, seed: int) -> FoldChoice:
        """The candidate and settings with the best mean score over folds of these rows; the first one wins a tie."""
        settings = GRIDS[self.classifier]
        n_folds = min(n_folds, int(np.bincount(codes).min()))
        totals = np.zeros((len(candidates), len(settings)))
        for index in range(n_folds):
            shown, hidden = Fold(index, n_folds, seed).split(codes)
            totals += [self.judge(X, codes, shown, hidden, candidate, settings) for candidate in candidates]
        best, best_settings = np.unravel_index(totals.argmax(), totals.shape)
        return FoldChoice(candidates[best], settings[best_settings])

    def judge(
        self,
        X: Array,
        codes: Codes,
        shown: Codes,
        hidden: Codes,
        candidate: Mapping[str, Any],
        settings: Sequence[Settings],
    ) -> list[float]:
        """Balanced accuracy on the held-out rows for each classifier setting, from one fit of the projection."""
        model = fit(self.method, X[shown], codes[shown], **{**self.parameters, **candidate})
        Z, Z_hidden = model.transform(X[shown]), model.transform(X[hidden])
        classifiers = [train(self.classifier, Z, codes[shown], chosen) for chosen in settings]
        return [balanced_accuracy(codes[hidden], classify(Z_hidden)) for classify in classifiers]


def _candidates(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
