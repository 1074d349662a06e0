"""Rows with many features, in coordinates of the space that they span.

Directions outside of it have no variance, so a projection loses nothing without them: this is exact. The basis Q (d, r)
is stored as its factors, Q = X^T W for the rows X (n, d), so that nothing of size d is stored besides the rows, and no
d x d matrix is ever formed.

If rows and features are both too many for that, Q has a fixed number of directions: those of the class means, and the
leading ones of the rows, by a randomized range finder (Halko, Martinsson and Tropp 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.data.taken import ScaledRows, is_sparse
from melm.typing import Array, Matrix

EXACT = 2_000  # rows or features up to which matrices of their squared number are formed
RANK = 500  # directions that are kept with more
ITERATIONS = 2  # of the range finder: each improves the leading directions


@dataclass(frozen=True)
class RowSpace:
    """An orthonormal basis Q of the space that the rows span, or of its leading part, and the rows in it."""

    matrix: ScaledRows
    weights: Array  # (n, r): Q = matrix^T weights
    coordinates: Array  # (n, r): matrix Q
    is_whole: bool = True

    @staticmethod
    def needed(X: Matrix, n_rows: int, n_features: int) -> bool:
        """Whether to use coordinates of the row space. Always for sparse rows, as centered features would be dense."""
        return is_sparse(X) or n_features > n_rows or min(n_rows, n_features) > EXACT

    @classmethod
    def of(cls, matrix: ScaledRows, codes: npt.NDArray[np.intp] | None = None) -> RowSpace:
        """The whole row space if it is small enough. Otherwise a part of it, which contains the class means."""
        n_rows, n_features = len(matrix), int(np.count_nonzero(matrix.factor))
        if n_rows <= min(EXACT, n_features):
            return cls._of_gram(matrix, n_features)
        return cls._of_range(matrix, min(RANK, n_rows, n_features), codes, n_features)

    @classmethod
    def _of_gram(cls, matrix: ScaledRows, n_features: int) -> RowSpace:
        """Compute the basis by the eigenvectors of the Gram matrix of the rows."""
        squares, axes = _axes(matrix.gram(), n_features)
        lengths = np.sqrt(squares)
        return cls(matrix, axes / lengths, axes * lengths)

    @classmethod
    def _of_range(cls, matrix: ScaledRows, rank: int, codes: npt.NDArray[np.intp] | None, n_features: int) -> RowSpace:
        """Compute a basis of `rank` directions by products of the Gram matrix with random vectors."""
        found: Array = np.random.default_rng(0).standard_normal((len(matrix), rank))
        for _ in range(ITERATIONS):
            found = np.linalg.qr(matrix.times_gram(found))[0]
        if codes is not None and rank < n_features:
            classes = np.eye(int(codes.max()) + 1)[codes][:, 1:]  # all together would be linearly dependent
            found = np.linalg.qr(np.hstack([classes - classes.mean(axis=0), found])[:, :rank])[0]
        product = matrix.times_gram(found)
        squares, axes = _axes(found.T @ product, max(len(matrix), n_features))
        lengths = np.sqrt(squares)
        return cls(matrix, found @ (axes / lengths), product @ (axes / lengths), rank == n_features)

    def to_features(self, V: Array) -> Array:
        """Q V (d, k) of V (r, k)."""
        return self.matrix.pull_back(self.weights @ V)

    def from_features(self, V: Array) -> Array:
        """Q^T V (r, k) of V (d, k): the part of V inside the row space."""
        inside: Array = self.weights.T @ self.matrix.project(V)
        return inside

    def basis(self, features: npt.NDArray[np.intp]) -> Array:
        """The rows of Q for these features."""
        some: Array = self.matrix.columns(features).T @ self.weights
        return some


def _axes(gram: Array, n_features: int) -> tuple[Array, Array]:
    """Eigenvalues, largest first, and eigenvectors of a Gram matrix, without those that are only rounding errors."""
    squares, axes = np.linalg.eigh((gram + gram.T) / 2)
    spread = squares > max(len(axes), n_features) * np.finfo(float).eps * squares[-1]
    return squares[spread][::-1], axes[:, spread][:, ::-1]
