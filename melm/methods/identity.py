"""No projection at all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.methods.base import DensityParameters, DirectMethod, LinearMap
from melm.typing import Array


class IdentityParameters(DensityParameters):
    """Parameters of the classifier on all features."""


class Identity(DirectMethod[IdentityParameters]):
    """All features without a projection: a baseline for the classifier.

    With more features than rows, an orthonormal basis of all directions in which the rows vary.
    """

    name = "identity"
    title = "Identity"
    orthonormal = True
    Parameters = IdentityParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: IdentityParameters) -> LinearMap:
        n_features = X.shape[1]
        return LinearMap(np.eye(n_features), np.zeros(n_features))


METHOD = Identity()
