"""Class PCA: principal components of the covariance inside the classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.axes import covariance, principal_axes
from melm.data.block_moments import FeatureMoments
from melm.methods.base import LinearMap, MomentMethod, StandardizedParameters
from melm.typing import Array


class CpcaParameters(StandardizedParameters):
    """Parameters of a class PCA fit."""


class Cpca(MomentMethod[CpcaParameters]):
    """Principal components of the sum of the class covariances, each weighted by the size of its class."""

    name = "cpca"
    title = "Class PCA"
    orthonormal = True
    Parameters = CpcaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: CpcaParameters) -> LinearMap:
        classes = [X[codes == code] for code in np.unique(codes)]
        weighted = np.sum([len(rows) / len(codes) * covariance(rows) for rows in classes], axis=0)
        return LinearMap(principal_axes(weighted, parameters.n_components), X.mean(axis=0))

    def project_moments(self, moments: FeatureMoments, parameters: CpcaParameters) -> LinearMap:
        return LinearMap(principal_axes(moments.within, parameters.n_components), moments.center)


METHOD = Cpca()
