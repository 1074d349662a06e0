"""Rows with more features than there are rows, in coordinates of the space that they span.

A direction outside of it has no variance at all, so a projection loses nothing there: this is exact. The basis Q (d, r)
is kept as what it is made of, Q = X^T W for the rows X (n, d), so that nothing of size d is stored beside the rows, and
no d x d matrix is ever formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.data.taken import ScaledRows
from melm.typing import Array


@dataclass(frozen=True)
class RowSpace:
    """An orthonormal basis Q of the space that the rows span, and the rows in it; widest axes first."""

    matrix: ScaledRows
    weights: Array  # (n, r): Q = matrix^T weights
    coordinates: Array  # (n, r): matrix Q

    @staticmethod
    def smaller(n_rows: int, n_features: int) -> bool:
        """Has the row space fewer dimensions than there are features?"""
        return n_features > n_rows

    @classmethod
    def of(cls, matrix: ScaledRows) -> RowSpace:
        """By the eigenvectors of the Gram matrix of the rows. Axes of no variance but rounding are dropped."""
        squares, axes = np.linalg.eigh(matrix.gram())
        n_features = len(matrix.factor)
        spread = squares > max(len(axes), n_features) * np.finfo(float).eps * squares[-1]
        lengths, axes = np.sqrt(squares[spread])[::-1], axes[:, spread][:, ::-1]
        return cls(matrix, axes / lengths, axes * lengths)

    def to_features(self, V: Array) -> Array:
        """Q V (d, k) of V (r, k)."""
        return self.matrix.pull_back(self.weights @ V)

    def from_features(self, V: Array) -> Array:
        """Q^T V (r, k) of V (d, k): the part of V inside the row space."""
        inside: Array = self.weights.T @ self.matrix.project(V)
        return inside

    def basis(self, features: npt.NDArray[np.intp]) -> Array:
        """The rows of Q that belong to some features."""
        some: Array = self.matrix.columns(features).T @ self.weights
        return some
