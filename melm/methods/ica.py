"""Independent component analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from melm.data.axes import covariance, orient, principal_axes
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters, random_state
from melm.methods.convergence import fit_quietly
from melm.typing import Array


class IcaParameters(StandardizedParameters):
    """Parameters of an ICA fit."""

    max_iterations: int = Field(default=1000, ge=1, description="Limit on the fixed-point iterations.")


class Ica(DirectMethod[IcaParameters]):
    """Sources that are as independent as a linear map can make them, by FastICA. Labels are not used.

    The rows are whitened to their leading principal components first. Sources have variance one; the one that moves the
    features most comes first.
    """

    name = "ica"
    title = "Independent component analysis"
    orthonormal = False
    Parameters = IcaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: IcaParameters) -> LinearMap:
        from sklearn.decomposition import FastICA

        axes = principal_axes(covariance(X), parameters.n_components)
        center = X.mean(axis=0)
        components = (X - center) @ axes
        spread = components.std(axis=0)
        estimator = FastICA(
            whiten=False, max_iter=parameters.max_iterations, random_state=random_state(parameters.seed)
        )
        warnings = fit_quietly(estimator, components / spread, self.title, parameters.max_iterations)
        strengths = np.linalg.norm(estimator.mixing_ * spread[:, None], axis=0)
        unmixing = (axes / spread) @ estimator.components_.T
        return LinearMap(orient(unmixing[:, np.argsort(-strengths, kind="stable")]), center, warnings)


METHOD = Ica()
