"""Non-negative matrix factorization."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from melm.methods.base import DirectMethod, LinearMap, Parameters, random_state
from melm.methods.convergence import fit_quietly
from melm.typing import Array


class NmfParameters(Parameters):
    """Parameters of a non-negative matrix factorization."""

    max_iterations: int = Field(default=1000, ge=1, description="Limit on the iterations of coordinate descent.")


class Nmf(DirectMethod[NmfParameters]):
    """Non-negative parts that add up to the rows. Labels are not used.

    Each feature is first divided by its standard deviation and shifted so that its minimum is zero, to make all
    features non-negative and of equal scale.

    z are the least-squares coordinates of such a row in the parts H, each of length one. They are linear in x. For rows
    that the parts explain exactly, they are the non-negative weights of the factorization.
    """

    name = "nmf"
    title = "Non-negative matrix factorization"
    orthonormal = False
    depends_on_axes = True
    Parameters = NmfParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: NmfParameters) -> LinearMap:
        from sklearn.decomposition import NMF

        spread = X.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        offset = X.min(axis=0)
        estimator = NMF(
            parameters.n_components, max_iter=parameters.max_iterations, random_state=random_state(parameters.seed)
        )
        warnings = fit_quietly(estimator, (X - offset) / scale, self.title, parameters.max_iterations)
        parts = estimator.components_ / np.linalg.norm(estimator.components_, axis=1, keepdims=True)  # (k, d)
        return LinearMap(np.linalg.pinv(parts) / scale[:, None], offset, warnings)


METHOD = Nmf()
