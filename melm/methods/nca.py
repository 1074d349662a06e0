"""Neighborhood components analysis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import Field

from melm.data.axes import align, covariance, principal_axes
from melm.data.prepared_rows import PreparedRows
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters
from melm.methods.convergence import fit_quietly
from melm.typing import Array

MAX_ROWS = 5_000  # every step compares all pairs: with more rows, minutes soon become hours


class NcaParameters(StandardizedParameters):
    """Parameters of a neighborhood components analysis."""

    max_iterations: int = Field(default=100, ge=1, description="Limit on the iterations of the optimizer.")


class Nca(DirectMethod[NcaParameters]):
    """The map in which the neighbors of a row are most likely of its own class.

    Distances are softened by an exponential, which features of large scale would saturate. The optimizer begins at the
    principal components. A rotation does not change neighborhoods, so the map is rotated to the principal axes of the
    projected rows. At most 5,000 rows.
    """

    name = "nca"
    title = "Neighborhood components analysis"
    orthonormal = False
    common = True
    Parameters = NcaParameters

    def estimated_seconds(self, parameters: NcaParameters, counts: Sequence[int], n_features: int) -> float:
        return 2e-9 * parameters.max_iterations * sum(counts) ** 2 * (10 + n_features)

    def check(self, prepared: PreparedRows, parameters: NcaParameters) -> None:
        super().check(prepared, parameters)
        n_rows = sum(prepared.rows.counts)
        if n_rows > MAX_ROWS:
            raise ValueError(
                f"Neighborhood components analysis compares all pairs of rows: at most {MAX_ROWS} rows, got {n_rows}. "
                "Fit a sample."
            )

    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: NcaParameters) -> LinearMap:
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        center = X.mean(axis=0)
        Z = X - center
        spread = covariance(Z)
        estimator = NeighborhoodComponentsAnalysis(
            parameters.n_components,
            init=principal_axes(spread, parameters.n_components).T,
            max_iter=parameters.max_iterations,
        )
        warnings = fit_quietly(estimator, Z, self.title, parameters.max_iterations, codes)
        return LinearMap(align(estimator.components_.T, spread), center, warnings)


METHOD = Nca()
