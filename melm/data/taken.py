"""All or some rows of a dense or sparse matrix. They are copied only block by block, and never converted to dense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from melm.data.blocks import blocks, column_sums
from melm.tables import sparse
from melm.typing import Array, Matrix

BETWEEN_BYTES = 2**25  # of the intermediate result of two products, which are computed for some columns at a time


def is_sparse(X: Matrix) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return bool(issparse(X))


def canonical(X: Matrix) -> Matrix:
    """A dense matrix unchanged, or a sparse one as CSR without duplicate cells, copied only if necessary."""
    return csr_array(sparse.canonical(X)) if is_sparse(X) else X


@dataclass(frozen=True)
class Taken:
    """All rows of X, or the chosen ones."""

    X: npt.NDArray[Any]  # (n, d)
    chosen: npt.NDArray[np.intp] | None = None

    @staticmethod
    def of(X: Matrix, chosen: npt.NDArray[np.intp] | None = None) -> Taken | TakenSparse:
        """Rows of a dense or sparse matrix."""
        if not is_sparse(X):
            return Taken(X, chosen)
        return TakenSparse(X if chosen is None else X[chosen])

    def __len__(self) -> int:
        return len(self.X) if self.chosen is None else len(self.chosen)

    def __getitem__(self, index: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        return self.X[index] if self.chosen is None else self.X[self.chosen[index]]

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def columns(self, index: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """Some columns of the rows."""
        return self.X[:, index] if self.chosen is None else self.X[:, index][self.chosen]

    def slices(self) -> Iterator[slice]:
        """Slices of the rows, block by block."""
        return blocks(len(self), self.n_features * 8)

    def span(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The smallest and the largest value of each column."""
        extremes = [(self[block].min(axis=0), self[block].max(axis=0)) for block in self.slices()]
        low, high = np.array(extremes).swapaxes(0, 1)
        return low.min(axis=0), high.max(axis=0)

    def moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation (ddof 0) of each column, in two passes; rows count by their weights (n,)."""
        size = len(self) if weights is None else weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros(self.n_features)
            for block in self.slices():
                total += column_sums(self[block], weights, block)
            center = total / size
            squares = np.zeros(self.n_features)
            for block in self.slices():
                squares += column_sums(np.square(self[block] - center), weights, block)
            return center, np.sqrt(squares / size)

    def project(self, V: Array, offset: Array) -> Array:
        """(rows - offset) V for V (d, k): (n, k)."""
        Z = np.empty((len(self), V.shape[1]), order="F")
        for block in self.slices():
            Z[block] = (self[block] - offset) @ V
        return Z

    def pull_back(self, A: Array, offset: Array) -> Array:
        """(rows - offset)^T A for A (n, k): (d, k)."""
        total = np.zeros((A.shape[1], self.n_features))
        for block in self.slices():
            total += A[block].T @ (self[block] - offset)
        return total.T

    def gram(self, offset: Array, factor: Array) -> Array:
        """Inner products of all pairs of rows, once shifted and scaled (n, n)."""
        total = np.zeros((len(self), len(self)))
        for block in blocks(self.n_features, len(self) * 8):
            columns = (self.columns(block) - offset[block]) * factor[block]
            total += columns @ columns.T
        return total


@dataclass(frozen=True)
class TakenSparse:
    """The rows of a sparse matrix. Subtracting an offset would make it dense, so products are corrected for it."""

    X: Matrix  # (n, d), each cell at most once

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def columns(self, index: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """A few columns of the rows."""
        some: npt.NDArray[Any] = self.X[:, index].toarray()
        return some

    def span(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The smallest and the largest value of each column, zeros included."""
        return self.X.min(axis=0).toarray().ravel(), self.X.max(axis=0).toarray().ravel()

    def moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation (ddof 0) of each column; rows count by their weights (n,)."""
        counts = np.ones(len(self)) if weights is None else weights
        size = counts.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            center = (self.X.T @ counts) / size
            squares, filled = np.zeros(self.n_features), np.zeros(self.n_features)
            for block in blocks(len(self), 8 * (1 + self.X.nnz // len(self))):
                some = self.X[block]
                own = np.repeat(counts[block], np.diff(some.indptr))
                away = np.square(some.data - center[some.indices])
                squares += np.bincount(some.indices, own * away, self.n_features)
                filled += np.bincount(some.indices, own, self.n_features)
            squares += np.maximum(size - filled, 0) * np.square(center)
            return center, np.sqrt(squares / size)

    def project(self, V: Array, offset: Array) -> Array:
        """(rows - offset) V for V (d, k): (n, k)."""
        Z: Array = self.X @ V - offset @ V
        return Z

    def pull_back(self, A: Array, offset: Array) -> Array:
        """(rows - offset)^T A for A (n, k): (d, k)."""
        pulled: Array = self.X.T @ A - np.outer(offset, A.sum(axis=0))
        return pulled

    def gram(self, offset: Array, factor: Array) -> Array:
        """Inner products of all pairs of rows, once shifted and scaled (n, n)."""
        scaled = csr_array((self.X.data * factor[self.X.indices], self.X.indices, self.X.indptr), shape=self.X.shape)
        shift = scaled @ (offset * factor)
        total: Array = (scaled @ scaled.T).toarray()
        total += np.square(offset * factor).sum() - shift[:, None] - shift
        return total


@dataclass(frozen=True)
class ScaledRows:
    """The rows (x - offset) * factor as a linear map: products with them, without a copy."""

    taken: Taken | TakenSparse
    offset: Array  # (d,)
    factor: Array  # (d,), zero for constant features

    @classmethod
    def standardize(cls, taken: Taken | TakenSparse, weights: Array | None = None) -> ScaledRows:
        """Standardize each feature to mean 0 and standard deviation 1; rows count by their weights (n,)."""
        low, high = taken.span()
        varying = high > low
        if not varying.any():
            raise ValueError("All features are constant: there is nothing to project.")
        center, scale = taken.moments(weights)
        if not np.isfinite(scale[varying]).all():
            feature = int(np.flatnonzero(varying & ~np.isfinite(scale))[0])
            raise ValueError(f"The values of feature {feature} are too large to compute their variance.")
        return cls(taken, center, np.divide(1.0, scale, out=np.zeros_like(scale), where=varying))

    @classmethod
    def center(cls, taken: Taken | TakenSparse) -> ScaledRows:
        """Center each feature at its mean."""
        return cls(taken, taken.moments()[0], np.ones(taken.n_features))

    def __len__(self) -> int:
        return len(self.taken)

    @property
    def scale(self) -> Array:
        """The inverse of the factor; zero for constant features."""
        return np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor > 0)

    def project(self, V: Array) -> Array:
        """The rows times V (d, k): (n, k)."""
        return self.taken.project(self.factor[:, None] * V, self.offset)

    def pull_back(self, A: Array) -> Array:
        """The transposed rows times A (n, k): (d, k)."""
        return self.taken.pull_back(A, self.offset) * self.factor[:, None]

    def columns(self, index: slice | npt.NDArray[np.intp]) -> Array:
        """Some columns of the rows."""
        some: Array = (self.taken.columns(index) - self.offset[index]) * self.factor[index]
        return some

    def gram(self) -> Array:
        """Inner products of all pairs of rows (n, n)."""
        return self.taken.gram(self.offset, self.factor)

    def times_gram(self, A: Array) -> Array:
        """The product of the Gram matrix with A (n, m), without forming that matrix."""
        product = np.empty((len(self), A.shape[1]))
        together = max(1, BETWEEN_BYTES // (8 * len(self.factor)))
        for begin in range(0, A.shape[1], together):
            some = slice(begin, begin + together)
            product[:, some] = self.project(self.pull_back(np.ascontiguousarray(A[:, some])))
        return product
