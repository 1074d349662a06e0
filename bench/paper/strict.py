"""The strict protocol: nothing is ever chosen by rows on which it is then judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bench.paper.entrants import Entrant
from bench.paper.fold_scores import FoldScore
from melm.comparison.classifiers import GRIDS, ClassifierName, Codes, Settings, train
from melm.evidence.evaluate import balanced_accuracy
from melm.methods import fit
from melm.plan import Fold
from melm.typing import Array

FOLDS = 5
INNER_FOLDS = 3

Grids: TypeAlias = Mapping[ClassifierName, Sequence[Settings]]
FIXED: Grids = {name: settings[:1] for name, settings in GRIDS.items()}


def separability(X: Array, codes: Codes, entrant: Entrant, repeats: int) -> list[FoldScore]:
    """Table 3: the projection is found on all rows, classifiers with fixed settings on training folds of the picture.

    Where the entrant has parameters to choose, inner folds of all rows choose them, with the same classifiers.
    """
    parameters = choose(X, codes, entrant, seed=0)
    Z = project(entrant, parameters, X, codes, X)
    scores = []
    for repeat in range(repeats):
        for index in range(FOLDS):
            shown, hidden = Fold(index, FOLDS, repeat).split(codes)
            found = judge(Z[shown], codes[shown], Z[hidden], codes[hidden], FIXED)
            scores.append(FoldScore.of(repeat, index, parameters, {name: values[0] for name, values in found.items()}))
    return scores


def held_out(X: Array, codes: Codes, entrant: Entrant, repeat: int, index: int) -> FoldScore:
    """One fold of new rows: the projection and classifiers with fixed settings see its training rows only."""
    shown, hidden = Fold(index, FOLDS, repeat).split(codes)
    parameters = choose(X[shown], codes[shown], entrant, seed=repeat)
    Z = project(entrant, parameters, X[shown], codes[shown], X)
    found = judge(Z[shown], codes[shown], Z[hidden], codes[hidden], FIXED)
    return FoldScore.of(repeat, index, parameters, {name: values[0] for name, values in found.items()})


def pipeline(X: Array, codes: Codes, entrant: Entrant, repeat: int, index: int) -> FoldScore:
    """One fold of table 2: projection and classifier both see its training rows only.

    Inner folds of these choose the parameters of the projection and the settings of each classifier, and which of the
    classifiers is to be believed.
    """
    shown, hidden = Fold(index, FOLDS, repeat).split(codes)
    inner = _inner_scores(X[shown], codes[shown], entrant, GRIDS, seed=repeat)
    chosen = {name: np.unravel_index(scores.argmax(), scores.shape) for name, scores in inner.items()}
    pictures = {
        candidate: project(entrant, entrant.candidates[candidate], X[shown], codes[shown], X)
        for candidate in {candidate for candidate, _ in chosen.values()}
    }
    scores = {}
    for name, (candidate, setting) in chosen.items():
        Z, grids = pictures[candidate], {name: [GRIDS[name][setting]]}
        scores[name] = judge(Z[shown], codes[shown], Z[hidden], codes[hidden], grids)[name][0]
    believed = max(inner, key=lambda name: inner[name].max())
    parameters = entrant.candidates[chosen[believed][0]]
    return FoldScore.of(repeat, index, parameters, scores, believed)


def choose(X: Array, codes: Codes, entrant: Entrant, seed: int) -> dict[str, Any]:
    """The parameters with the best mean of the three classifiers over inner folds; of equals, the first."""
    if len(entrant.candidates) == 1:
        return entrant.candidates[0]
    inner = _inner_scores(X, codes, entrant, FIXED, seed)
    best = int(np.sum([scores[:, 0] for scores in inner.values()], axis=0).argmax())
    return entrant.candidates[best]


def project(entrant: Entrant, parameters: Mapping[str, Any], X: Array, codes: Codes, rows: Array) -> Array:
    """Some rows in the projection that X and its codes give. Features are standardized by X."""
    center, spread = X.mean(axis=0), X.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    model = fit(entrant.method, (X - center) / scale, codes, **{**entrant.fixed, **parameters})
    return model.transform((rows - center) / scale)


def judge(Z: Array, codes: Codes, Z_hidden: Array, hidden: Codes, grids: Grids) -> dict[ClassifierName, list[float]]:
    """Balanced accuracy on hidden rows of each classifier, by settings."""
    return {
        name: [balanced_accuracy(hidden, train(name, Z, codes, chosen)(Z_hidden)) for chosen in settings]
        for name, settings in grids.items()
    }


def _inner_scores(X: Array, codes: Codes, entrant: Entrant, grids: Grids, seed: int) -> dict[ClassifierName, Array]:
    """Mean balanced accuracy over inner folds, for each classifier an array (candidates, settings)."""
    totals = {name: np.zeros((len(entrant.candidates), len(settings))) for name, settings in grids.items()}
    for index in range(INNER_FOLDS):
        shown, hidden = Fold(index, INNER_FOLDS, seed).split(codes)
        for candidate, parameters in enumerate(entrant.candidates):
            Z = project(entrant, parameters, X[shown], codes[shown], X)
            for name, scores in judge(Z[shown], codes[shown], Z[hidden], codes[hidden], grids).items():
                totals[name][candidate] += np.array(scores) / INNER_FOLDS
    return totals
