"""2ePCA: class PCA in which every class has the same weight, whatever its number of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.axes import covariance, principal_axes
from melm.data.block_moments import FeatureMoments
from melm.methods.base import LinearMap, MomentMethod, StandardizedParameters
from melm.typing import Array


class TwoEpcaParameters(StandardizedParameters):
    """Parameters of a 2ePCA fit."""


class TwoEpca(MomentMethod[TwoEpcaParameters]):
    """Principal components of the unweighted sum of the class covariances: class PCA without weights."""

    name = "2epca"
    title = "Two-ellipsoid PCA"
    orthonormal = True
    Parameters = TwoEpcaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: TwoEpcaParameters) -> LinearMap:
        total = np.sum([covariance(X[codes == code]) for code in np.unique(codes)], axis=0)
        return LinearMap(principal_axes(total, parameters.n_components), X.mean(axis=0))

    def project_moments(self, moments: FeatureMoments, parameters: TwoEpcaParameters) -> LinearMap:
        return LinearMap(principal_axes(moments.covariances.sum(axis=0), parameters.n_components), moments.center)


METHOD = TwoEpca()
