"""Traps in the data that make a picture look better than it is: target leakage, and duplicated rows.

Each gives a warning that names the column and what to do. None changes the fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from melm.data.labeled import Labeled
from melm.data.taken import is_sparse
from melm.evidence.evaluate import balanced_accuracy
from melm.model import Model
from melm.model.card import ValidationResult
from melm.plan import Fold
from melm.typing import Matrix

LOOKED_AT = 5_000  # rows, evenly spread
MANY_ROWS = 100_000  # the first ones, searched for duplicates
FEWEST_ROWS = 20  # with fewer, all this happens by chance
COPY = 0.999  # share of a feature's variance between the class means from which it is a copy of the class
SUSPECTS = 5  # columns that are judged alone
ALONE = 0.9  # share of the skill of the fit that one column reaches alone,
ALONE_SKILL = 0.7  # if that is at least so much
TWINS = 0.05  # share of rows that are equal to another
MOST_TWINS = 10  # rows that are equal to each other; more only show that there are few values
FEWEST_GROUPS = 10
PURE = 0.99  # share of the rows that have the class of most rows of their group


def warn_of_traps(data: Labeled) -> list[str]:
    """Warnings that need only rows and labels, before any validation."""
    names = data.names() or [f"x{j}" for j in range(data.X.shape[1])]
    if len(data.codes) < FEWEST_ROWS:
        return []
    warnings = [
        f"{names[j]!r} says nothing but the class: a copy of the target? Leave it out."
        for j in np.flatnonzero(data.separations > COPY).tolist()
    ]
    if is_sparse(data.X):  # an id is not zero in most rows
        return warnings
    warnings += warn_of_order(data.X, data.codes, names)
    if not warnings:
        warnings += _numberings(data.X, names)
    if data.groups is None:
        warnings += [*_groups(data, names), *_twins(data.X)]
    return warnings


def warn_of_order(X: Matrix, codes: npt.NDArray[np.intp], names: Sequence[str]) -> list[str]:
    """Warn if rows are sorted by class and a feature grows or falls from row to row: it gives the class away."""
    if np.count_nonzero(np.diff(codes)) != codes.max():
        return []
    steps = np.diff(X[_some(len(codes))], axis=0)
    return [
        f"The rows are sorted by class and {names[j]!r} {'grows' if steps[0, j] > 0 else 'falls'} from row to row: an "
        "id that gives the class away? Leave it out."
        for j in np.flatnonzero((steps > 0).all(axis=0) | (steps < 0).all(axis=0)).tolist()
    ]


def warn_of_lone_columns(
    data: Labeled, model: Model, splits: Sequence[Fold], validation: ValidationResult
) -> list[str]:
    """Warn of single columns that predict held-out rows nearly as well as the fit does."""
    sources = model.sources
    if len(sources) < 2 or is_sparse(data.X) or len(data.codes) < FEWEST_ROWS:
        return []
    chance = validation.chance
    skill = (validation.balanced_accuracy - chance) / (1 - chance)
    separations = data.separations
    strength = np.array([separations[list(own)].max(initial=0.0) for own in sources])
    warnings = []
    strength[strength > COPY] = 0.0  # `warn_of_traps` reports these
    for column in np.argsort(-strength, kind="stable")[:SUSPECTS]:
        score = _score_alone(data, list(sources[column]), splits)
        alone = (score - chance) / (1 - chance)
        if alone >= ALONE_SKILL and alone >= ALONE * skill:
            warnings.append(
                f"{model.columns[column]!r} alone recognizes {score:.0%} of held-out rows, the picture "
                f"{validation.balanced_accuracy:.0%}: check that it is known before the class is, or leave it out."
            )
    return warnings


def _score_alone(data: Labeled, features: list[int], splits: Sequence[Fold]) -> float:
    """Held-out balanced accuracy of a small tree on the features of one column."""
    from sklearn.tree import DecisionTreeClassifier

    rows = _some(len(data.codes))
    X, codes, groups = data.X[np.ix_(rows, np.array(features))], data.codes[rows], data.groups
    if np.bincount(codes).min() < splits[0].n_folds:
        return 0.0
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=3, class_weight="balanced", random_state=0)
    scores = []
    for fold in splits[: splits[0].n_folds]:
        shown, hidden = fold.split(codes, None if groups is None else groups[rows])
        predicted = tree.fit(X[shown], codes[shown]).predict(X[hidden])
        scores.append(balanced_accuracy(codes[hidden], predicted))
    return float(np.mean(scores))


def _numberings(X: npt.NDArray[np.floating], names: Sequence[str]) -> Iterator[str]:
    """Warn of features that number the rows, in any order."""
    n_rows, width = len(X), np.ptp(X, axis=0)
    for j in np.flatnonzero((width >= n_rows - 1) & (width < 2 * n_rows)).tolist():
        if (X[:, j] == np.floor(X[:, j])).all() and len(np.unique(X[:, j])) == n_rows:
            yield f"{names[j]!r} is another whole number in every row: an id? Leave it out."


def _groups(data: Labeled, names: Sequence[str]) -> Iterator[str]:
    """Warn of features whose values name groups of rows, each group of a single class."""
    codes = data.codes[:MANY_ROWS]
    n_rows = len(codes)
    for j in range(data.X.shape[1]):
        values = data.X[:MANY_ROWS, j]
        if (values != np.floor(values)).any():
            continue
        found, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
        if not (FEWEST_GROUPS <= len(found) <= n_rows / 2) or np.median(sizes) < 2:
            continue
        table = np.zeros((len(found), len(data.classes)))
        np.add.at(table, (groups, codes), 1)
        # Runs of neighboring values of one class are separated by thresholds, as they should be for a good feature.
        changes = np.count_nonzero(np.diff(table.argmax(axis=1)))
        if table.max(axis=1).sum() >= PURE * n_rows and changes > len(found) / 4:
            yield (
                f"Rows with equal {names[j]!r} have one class, and there are {len(found)} such groups: if it names "
                "what the rows belong to, give it the role group, so that no group is divided between folds."
            )


def _twins(X: npt.NDArray[np.floating]) -> Iterator[str]:
    """Warn of rows that are equal to others in all features: a fold then holds out rows that its fit has seen."""
    rows = np.ascontiguousarray(X[:MANY_ROWS])
    counts = Counter(row.tobytes() for row in rows)
    alike = [count for count in counts.values() if count > 1]
    if sum(alike) > TWINS * len(rows) and np.mean(alike) <= MOST_TWINS:
        yield (
            f"{sum(alike) / len(rows):.0%} of the rows are equal to another in every feature, so folds hold out rows "
            "that were seen: leave repeated rows out, or give those that belong together a group."
        )


def _some(n_rows: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, n_rows - 1, min(n_rows, LOOKED_AT)).astype(np.intp)
