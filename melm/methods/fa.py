"""Factor analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from melm.data.axes import orient
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters
from melm.methods.convergence import fit_quietly
from melm.typing import Array


class FaParameters(StandardizedParameters):
    """Parameters of a factor analysis."""

    max_iterations: int = Field(default=1000, ge=1, description="Limit on the iterations of expectation maximization.")


class Fa(DirectMethod[FaParameters]):
    """Common factors of features that each have a noise variance of their own. Labels are not used.

    z is the posterior mean of the factors, W^T (W W^T + Psi)^-1 (x - mean), a linear map. The scale of the features
    does not matter, but standardized features are numerically more stable.
    """

    name = "fa"
    title = "Factor analysis"
    orthonormal = False
    depends_on_axes = True
    Parameters = FaParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: FaParameters) -> LinearMap:
        from sklearn.decomposition import FactorAnalysis

        estimator = FactorAnalysis(parameters.n_components, max_iter=parameters.max_iterations, svd_method="lapack")
        warnings = fit_quietly(estimator, X, self.title, parameters.max_iterations)
        W = estimator.components_.T  # (d, k)
        precise = W / estimator.noise_variance_[:, None]  # Psi^-1 W
        V = precise @ np.linalg.inv(np.eye(W.shape[1]) + W.T @ precise)
        return LinearMap(orient(V), X.mean(axis=0), warnings)


METHOD = Fa()
