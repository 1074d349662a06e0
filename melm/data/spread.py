"""Covariance of the features over all rows, never formed: what it makes of a projection, and of a few features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from melm.data.rows import StandardizedRows
from melm.typing import Array


@dataclass(frozen=True)
class Spread:
    """The covariance C of the features as they came, by that of the rows in their own coordinates."""

    rows: StandardizedRows
    total: Array  # (r, r)

    def of(self, V: Array) -> Array:
        """V^T C V (k, k): the covariance of the projected rows."""
        own = self.rows.from_features(V)
        spread: Array = own.T @ self.total @ own
        return spread

    def loadings(self, V: Array) -> Array:
        """What a standard deviation of each feature moves along the axes, in standard deviations of the axis (d, k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            loadings = V * self.rows.scale[:, None] / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(loadings), np.float64)

    def axis_correlations(self, V: Array) -> Array:
        """Correlation of each feature with each axis (d, k)."""
        # A standardized feature's covariance with the axes is its correlation with them, but for their spread.
        shared = self.rows.embed(self.total @ self.rows.from_features(V))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = shared / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(correlations), np.float64)

    def joint_loadings(self, V: Array, sources: Sequence[Sequence[int]]) -> Array:
        """What several features move together along each axis, in standard deviations of the axis (len(sources), k).

        Their contributions are added up row by row, and the spread of the sum is taken: free of sign, and for a single
        feature the size of its loading.
        """
        weights = V * self.rows.scale[:, None]
        moved = [np.sqrt(np.einsum("jk,ji,ik->k", weights[J], self._among(J), weights[J])) for J in map(list, sources)]
        with np.errstate(divide="ignore", invalid="ignore"):
            loadings = np.stack(moved) / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(loadings), np.float64)

    def joint_correlations(self, V: Array, sources: Sequence[Sequence[int]]) -> Array:
        """Multiple correlation of several features with each axis (len(sources), k); of a single one, its size."""
        shared = self.axis_correlations(V)
        explained = [
            np.einsum("jk,ji,ik->k", shared[J], np.linalg.pinv(self._among(J), hermitian=True), shared[J])
            for J in map(list, sources)
        ]
        return np.asarray(np.clip(np.sqrt(np.maximum(np.stack(explained), 0)), 0, 1), np.float64)

    def _axis_spreads(self, V: Array) -> Array:
        return np.sqrt(np.maximum(np.diag(self.of(V)), 0))

    def _among(self, features: Sequence[int]) -> Array:
        """Correlations of some features with each other."""
        basis = self.rows.basis(np.asarray(features, np.intp))
        among: Array = basis @ self.total @ basis.T
        return among
