"""The protocol that comes nearest to the paper's figures. It chooses by the folds that it reports, and so flatters.

The paper repeats table 3 on random subsets of the rows, without saying how large, and reports the best classifier in
table 2. Parameters of the projections are chosen by the scores that are reported: `Results` does it, from the
lines of all candidates.
"""

from __future__ import annotations

import numpy as np

from bench.paper.entrants import Entrant
from bench.paper.fold_scores import FoldScore
from bench.paper.strict import FOLDS, INNER_FOLDS, judge, project
from melm.comparison.classifiers import GRIDS, ClassifierName, Codes, train
from melm.evidence.evaluate import balanced_accuracy
from melm.plan import Fold
from melm.typing import Array

SUBSET = 200  # rows: what reproduces table 3 best of 100, 150, 200, 300, half of the rows and all of them


def separability(X: Array, codes: Codes, entrant: Entrant, repeat: int) -> list[FoldScore]:
    """Table 3 on a random subset of the rows, with each classifier's settings chosen by the folds that are reported."""
    rows = _subset(codes, repeat)
    X, codes = X[rows], codes[rows]
    splits = [Fold(index, FOLDS, repeat).split(codes) for index in range(FOLDS)]
    scores = []
    for parameters in entrant.candidates:
        Z = project(entrant, parameters, X, codes, X)
        judged = [judge(Z[shown], codes[shown], Z[hidden], codes[hidden], GRIDS) for shown, hidden in splits]
        flattered = {name: _best_setting(np.array([fold[name] for fold in judged])) for name in GRIDS}
        scores += [
            FoldScore.of(repeat, index, parameters, {name: values[index] for name, values in flattered.items()})
            for index in range(FOLDS)
        ]
    return scores


def pipeline(X: Array, codes: Codes, entrant: Entrant, repeat: int, index: int) -> list[FoldScore]:
    """One fold of table 2: classifiers choose their settings inside the training rows, after the projection."""
    shown, hidden = Fold(index, FOLDS, repeat).split(codes)
    scores = []
    for parameters in entrant.candidates:
        Z = project(entrant, parameters, X[shown], codes[shown], X)
        held_out = {name: _tuned(name, Z[shown], codes[shown], Z[hidden], codes[hidden]) for name in GRIDS}
        scores.append(FoldScore.of(repeat, index, parameters, held_out))
    return scores


def _subset(codes: Codes, seed: int) -> Codes:
    """Rows of a random subset, with as large a share of each class as in all rows."""
    generator = np.random.default_rng(seed)
    share = min(1.0, SUBSET / len(codes))
    members = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    return np.concatenate([generator.choice(rows, round(share * len(rows)), replace=False) for rows in members])


def _best_setting(scores: Array) -> list[float]:
    """Of scores (folds, settings), those of the setting with the best mean."""
    best: list[float] = scores[:, scores.mean(axis=0).argmax()].tolist()
    return best


def _tuned(name: ClassifierName, Z: Array, codes: Codes, Z_hidden: Array, hidden: Codes) -> float:
    """A classifier with the settings that do best on inner folds of the projected training rows."""
    inner = []
    for index in range(INNER_FOLDS):
        first, second = Fold(index, INNER_FOLDS, 0).split(codes)
        inner.append(judge(Z[first], codes[first], Z[second], codes[second], {name: GRIDS[name]})[name])
    settings = GRIDS[name][int(np.mean(inner, axis=0).argmax())]
    return balanced_accuracy(hidden, train(name, Z, codes, settings)(Z_hidden))
