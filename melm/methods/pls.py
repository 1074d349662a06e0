"""Partial least squares discriminant analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.axes import orient
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters
from melm.typing import Array

UNRELATED = 1e-10  # covariance with the classes, relative to that of the first component, that counts as none


class PlsParameters(StandardizedParameters):
    """Of a partial least squares discriminant analysis."""


class Pls(DirectMethod[PlsParameters]):
    """Directions of largest covariance with the classes, each after what the ones before explain is taken out.

    Partial least squares regression (NIPALS) on one indicator column for each class, each of spread one.
    """

    name = "pls"
    title = "Partial least squares discriminant analysis"
    orthonormal = False
    common = True
    Parameters = PlsParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: PlsParameters) -> LinearMap:
        center = X.mean(axis=0)
        residual = X - center  # (n, d)
        indicators = np.eye(int(codes.max()) + 1)[codes]  # (n, C)
        indicators = (indicators - indicators.mean(axis=0)) / indicators.std(axis=0)
        weights: list[Array] = []
        loadings: list[Array] = []
        strengths: list[float] = []
        for _ in range(parameters.n_components):
            left, singular, _ = np.linalg.svd(residual.T @ indicators, full_matrices=False)
            strengths.append(singular[0])
            if singular[0] <= UNRELATED * strengths[0]:
                raise ValueError(
                    f"Partial least squares finds only {len(weights)} components, got n_components="
                    f"{parameters.n_components}: what is left of the features does not vary with the classes."
                )
            scores = residual @ left[:, 0]
            weights.append(left[:, 0])
            loadings.append(scores @ residual / (scores @ scores))
            residual = residual - np.outer(scores, loadings[-1])
        W, P = np.column_stack(weights), np.column_stack(loadings)
        return LinearMap(orient(W @ np.linalg.inv(P.T @ W)), center)


METHOD = Pls()
