"""Per-class PCA: each class gives its own first principal component."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from melm.data.axes import covariance, principal_axes
from melm.data.block_moments import FeatureMoments
from melm.methods.base import LinearMap, MomentMethod, StandardizedParameters
from melm.typing import Array


class PpcaParameters(StandardizedParameters):
    """Parameters of a per-class PCA fit."""


class Ppca(MomentMethod[PpcaParameters]):
    """The first principal component of each class, the one with the largest variance first.

    With more components than classes, the second components of the classes follow, then the third. With fewer, those
    with the smallest variance are left out. The axes have length one but are not orthogonal.
    """

    name = "ppca"
    title = "Per-class PCA"
    orthonormal = False
    Parameters = PpcaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: PpcaParameters) -> LinearMap:
        return _widest((covariance(X[codes == code]) for code in np.unique(codes)), X.mean(axis=0), parameters)

    def project_moments(self, moments: FeatureMoments, parameters: PpcaParameters) -> LinearMap:
        return _widest(moments.covariances, moments.center, parameters)


def _widest(covariances: Iterable[Array], center: Array, parameters: PpcaParameters) -> LinearMap:
    axes, order = [], []
    for spread in covariances:
        own = principal_axes(spread, parameters.n_components)
        variances = np.diag(own.T @ spread @ own)
        axes.append(own)
        order += [(rank, -variance) for rank, variance in enumerate(variances)]
    chosen = sorted(range(len(order)), key=order.__getitem__)[: parameters.n_components]
    return LinearMap(np.hstack(axes)[:, chosen], center)


METHOD = Ppca()
