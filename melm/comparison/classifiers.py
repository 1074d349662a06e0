"""Classifiers of projected rows, used to score projections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.data.prepared_rows import PreparedRows
from melm.density.projected import class_densities
from melm.fitting import GAMMAS
from melm.typing import Array

Codes: TypeAlias = npt.NDArray[np.intp]
Classify: TypeAlias = Callable[[Array], Codes]
ClassifierName: TypeAlias = Literal["svm", "knn", "kde"]
Settings: TypeAlias = Mapping[str, Any]

# The grid of settings of each classifier. The first one is the default, and wins a tie.
GRIDS: dict[ClassifierName, list[Settings]] = {
    "svm": [{"C": C, "width": width} for C, width in product((1.0, 0.1, 10.0, 100.0), (1.0, 0.2, 5.0))],
    "knn": [{"n_neighbors": n_neighbors} for n_neighbors in (5, 1, 3, 9, 15)],
    "kde": [{"gamma": gamma} for gamma in GAMMAS],
}


def train(name: ClassifierName, Z: Array, codes: Codes, settings: Settings) -> Classify:
    """A function from projected rows to class codes, learned from rows Z (n, k) with codes 0..C-1."""
    trainers: dict[ClassifierName, Callable[..., Classify]] = {"svm": _train_svm, "knn": _train_knn, "kde": _train_kde}
    return trainers[name](Z, codes, **settings)


def _train_svm(Z: Array, codes: Codes, C: float, width: float) -> Classify:
    """Support vector machine with kernel exp(-width |z - z'|^2 / k) on standardized axes and balanced class weights."""
    from sklearn.svm import SVC

    return _train_standardized(SVC(C=C, gamma=width / Z.shape[1], class_weight="balanced"), Z, codes)


def _train_knn(Z: Array, codes: Codes, n_neighbors: int) -> Classify:
    """Majority vote of the nearest neighbors on standardized axes."""
    from sklearn.neighbors import KNeighborsClassifier

    return _train_standardized(KNeighborsClassifier(min(n_neighbors, len(Z))), Z, codes)


def _train_kde(Z: Array, codes: Codes, gamma: float) -> Classify:
    """The kernel densities of this library, with equal priors."""
    n_components = Z.shape[1]
    prepared = PreparedRows.prepare(Z, codes, int(codes.max()) + 1, "ledoit_wolf")
    densities = class_densities(prepared, np.eye(n_components), gamma, "balanced", offset=np.zeros(n_components))
    return densities.most_probable


def _train_standardized(estimator: Any, Z: Array, codes: Codes) -> Classify:
    center, spread = Z.mean(axis=0), Z.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    estimator.fit((Z - center) / scale, codes)
    return lambda rows: np.asarray(estimator.predict((rows - center) / scale), dtype=np.intp)
