"""Covariance of the features over all rows, which is never formed: only its products with projections are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from melm.data.rows import StandardizedRows
from melm.typing import Array


@dataclass(frozen=True)
class Spread:
    """The covariance C of the raw features, by that of the rows in their coordinates."""

    rows: StandardizedRows
    total: Array  # (r, r)

    def of(self, V: Array) -> Array:
        """V^T C V (k, k): the covariance of the projected rows."""
        own = self.rows.from_features(V)
        spread: Array = own.T @ self.total @ own
        return spread

    def loadings(self, V: Array) -> Array:
        """How far a standard deviation of each feature moves a row, in standard deviations of the axes (d, k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            loadings = V * self.rows.scale[:, None] / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(loadings), np.float64)

    def axis_correlations(self, V: Array) -> Array:
        """Correlation of each feature with each axis (d, k)."""
        # The covariance of a standardized feature with an axis is their correlation times the spread of the axis.
        shared = self.rows.embed(self.total @ self.rows.from_features(V))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = shared / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(correlations), np.float64)

    def joint_loadings(self, V: Array, sources: Sequence[Sequence[int]]) -> Array:
        """The joint loading of several features on each axis, in standard deviations of the axis (len(sources), k).

        It is the standard deviation of the sum of their contributions: without a sign, and for a single feature the
        absolute value of its loading.
        """
        weights = V * self.rows.scale[:, None]
        moved = [np.sqrt(np.einsum("jk,ji,ik->k", weights[J], self._among(J), weights[J])) for J in map(list, sources)]
        with np.errstate(divide="ignore", invalid="ignore"):
            loadings = np.stack(moved) / self._axis_spreads(V)
        return np.asarray(np.nan_to_num(loadings), np.float64)

    def joint_correlations(self, V: Array, sources: Sequence[Sequence[int]]) -> Array:
        """Multiple correlation of several features with each axis (len(sources), k); the absolute value for one."""
        shared = self.axis_correlations(V)
        explained = [
            np.einsum("jk,ji,ik->k", shared[J], np.linalg.pinv(self._among(J), hermitian=True), shared[J])
            for J in map(list, sources)
        ]
        return np.asarray(np.clip(np.sqrt(np.maximum(np.stack(explained), 0)), 0, 1), np.float64)

    def _axis_spreads(self, V: Array) -> Array:
        return np.sqrt(np.maximum(np.diag(self.of(V)), 0))

    def _among(self, features: Sequence[int]) -> Array:
        """Correlations between these features."""
        basis = self.rows.basis(np.asarray(features, np.intp))
        among: Array = basis @ self.total @ basis.T
        return among
