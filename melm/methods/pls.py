"""Partial least squares discriminant analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.axes import orient
from melm.data.partial_least_squares import partial_least_squares
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters
from melm.typing import Array


class PlsParameters(StandardizedParameters):
    """Parameters of a partial least squares discriminant analysis."""


class Pls(DirectMethod[PlsParameters]):
    """Directions of largest covariance with the classes, each after subtracting what the previous ones explain.

    Partial least squares regression (NIPALS) on one indicator column for each class, each of standard deviation one.
    """

    name = "pls"
    title = "Partial least squares discriminant analysis"
    orthonormal = False
    common = True
    Parameters = PlsParameters

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: PlsParameters) -> LinearMap:
        center = X.mean(axis=0)
        directions = partial_least_squares(X - center, np.eye(int(codes.max()) + 1)[codes], parameters.n_components)
        found = directions.shape[1]
        if found < parameters.n_components:
            raise ValueError(
                f"Partial least squares finds only {found} components, got n_components="
                f"{parameters.n_components}: what is left of the features does not vary with the classes."
            )
        return LinearMap(orient(directions), center)


METHOD = Pls()
