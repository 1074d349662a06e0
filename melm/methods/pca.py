"""Principal component analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.axes import covariance, principal_axes
from melm.data.block_moments import FeatureMoments
from melm.methods.base import LinearMap, MomentMethod, StandardizedParameters
from melm.typing import Array


class PcaParameters(StandardizedParameters):
    """Parameters of a PCA fit."""


class Pca(MomentMethod[PcaParameters]):
    """The directions in which all rows together vary most. Labels are not used."""

    name = "pca"
    title = "Principal component analysis"
    orthonormal = True
    common = True
    Parameters = PcaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: PcaParameters) -> LinearMap:
        return LinearMap(principal_axes(covariance(X), parameters.n_components), X.mean(axis=0))

    def project_moments(self, moments: FeatureMoments, parameters: PcaParameters) -> LinearMap:
        return LinearMap(principal_axes(moments.total, parameters.n_components), moments.center)


METHOD = Pca()
