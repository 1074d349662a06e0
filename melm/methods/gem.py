"""Generalized eigenvectors of the second moments of pairs of classes (Karampatziakis and Mineiro, ICML 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.linalg import eigh

from melm.data.axes import orient
from melm.data.block_moments import FeatureMoments
from melm.data.row_space import RowSpace
from melm.data.taken import ScaledRows, Taken
from melm.methods.base import LinearMap, MomentMethod, StandardizedParameters
from melm.typing import Array


class GemParameters(StandardizedParameters):
    """Parameters of a GEM fit."""

    ridge: float = Field(
        0.05,
        ge=1e-9,
        allow_inf_nan=False,
        description="Regularization, as a share of a feature's mean second moment: the method's own gamma.",
    )


class Gem(MomentMethod[GemParameters]):
    """Directions in which one class is large and another is small.

    For every ordered pair of classes, generalized eigenvectors v of the second moments M_c = E[x x^T | c]:
    M_a v = s (M_b + ridge trace(M_b) / d I) v. The k with the largest s over all pairs are kept, at length one.
    As the method defines them, moments are about zero, which is the mean of standardized features. Moments of raw
    features are not about their mean, and the map has no offset. Constant features are left out.
    """

    name = "gem"
    title = "Discriminative features by generalized eigenvectors"
    orthonormal = False
    depends_on_axes = True
    Parameters = GemParameters
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"ridge": (0.05, 0.001, 0.01, 0.5)}

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: GemParameters) -> LinearMap:
        varying = X.max(axis=0) > X.min(axis=0)
        features = X[:, varying]
        n_features = features.shape[1]
        # A common scale changes no direction, and keeps squares of tiny or huge values within range.
        features = features / np.abs(features).max()
        space = None
        if RowSpace.needed(X, len(codes), n_features):  # about zero, and not about the mean
            space = RowSpace.of(ScaledRows(Taken(features), np.zeros(n_features), np.ones(n_features)))
            features = space.coordinates
        moments = [_second_moment(features[codes == code]) for code in np.unique(codes)]
        V = _strongest(moments, n_features, parameters)
        V = V if space is None else space.to_features(V)
        projection = np.zeros((X.shape[1], parameters.n_components))
        projection[varying] = V / np.linalg.norm(V, axis=0)
        return LinearMap(orient(projection), np.zeros(X.shape[1]))

    def project_moments(self, moments: FeatureMoments, parameters: GemParameters) -> LinearMap:
        about_zero = moments.covariances + moments.means[:, :, None] * moments.means[:, None, :]
        varying = np.flatnonzero(np.diag(moments.total) > 0)
        inside = np.ix_(np.arange(len(about_zero)), varying, varying)
        V = _strongest(list(about_zero[inside] / about_zero[inside].max()), len(varying), parameters)
        projection = np.zeros((len(moments.center), parameters.n_components))
        projection[varying] = V / np.linalg.norm(V, axis=0)
        return LinearMap(orient(projection), np.zeros(len(moments.center)))


def _strongest(moments: Sequence[Array], n_features: int, parameters: GemParameters) -> Array:
    """Generalized eigenvectors of all pairs of second moments about zero, the strongest of them all (r, k)."""
    n_dimensions = len(moments[0])
    strengths, directions = [], []
    last = n_dimensions - 1
    first = max(0, n_dimensions - parameters.n_components)
    for a, b in permutations(range(len(moments)), 2):
        ridge = parameters.ridge * np.trace(moments[b]) / n_features
        if ridge == 0:
            raise ValueError("GEM divides by the second moment of each class, and one class has only zeros.")
        regularized = moments[b] + ridge * np.eye(n_dimensions)
        values, vectors = eigh(moments[a], regularized, subset_by_index=(first, last))
        strengths.append(values)
        directions.append(vectors)
    strongest = np.argsort(-np.concatenate(strengths), kind="stable")[: parameters.n_components]
    strongest_of_all: Array = np.hstack(directions)[:, strongest]
    return strongest_of_all


def _second_moment(rows: Array) -> Array:
    moment: Array = rows.T @ rows / len(rows)
    return moment


METHOD = Gem()
