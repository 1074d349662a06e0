"""Rows taken from a matrix, all or some, never copied but block by block; with an offset and a scale, if wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks, column_sums
from melm.typing import Array


@dataclass(frozen=True)
class Taken:
    """All rows of X or those chosen."""

    X: npt.NDArray[Any]  # (n, d)
    chosen: npt.NDArray[np.intp] | None = None

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
        """The rows one after the other, some together."""
        return blocks(len(self), self.n_features * 8)

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        """What the slices hold."""
        return (self[block] for block in self.slices())

    def span(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The smallest and the largest value of each column."""
        low, high = np.array([[rows.min(axis=0), rows.max(axis=0)] for rows in self.blocks()]).swapaxes(0, 1)
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


@dataclass(frozen=True)
class ScaledRows:
    """The rows (x - offset) * factor as a linear map: products with them, and no copy of them."""

    taken: Taken
    offset: Array  # (d,)
    factor: Array  # (d,), zero for constant features

    @classmethod
    def standardize(cls, taken: Taken, weights: Array | None = None) -> ScaledRows:
        """Each feature about its mean, in units of its standard deviation; rows count by their weights (n,)."""
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
    def center(cls, taken: Taken) -> ScaledRows:
        """Each feature about its mean."""
        return cls(taken, taken.moments()[0], np.ones(taken.n_features))

    @property
    def scale(self) -> Array:
        """The inverse of the factor; zero for constant features."""
        return np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor > 0)

    def project(self, V: Array) -> Array:
        """The rows times V (d, k): (n, k)."""
        weighted = self.factor[:, None] * V
        Z = np.empty((len(self.taken), V.shape[1]), order="F")
        for block in self.taken.slices():
            Z[block] = (self.taken[block] - self.offset) @ weighted
        return Z

    def pull_back(self, A: Array) -> Array:
        """The transposed rows times A (n, k): (d, k)."""
        total = np.zeros((A.shape[1], self.taken.n_features))
        for block in self.taken.slices():
            total += A[block].T @ (self.taken[block] - self.offset)
        return (total * self.factor).T

    def columns(self, index: slice | npt.NDArray[np.intp]) -> Array:
        """Some columns of the rows."""
        some: Array = (self.taken.columns(index) - self.offset[index]) * self.factor[index]
        return some

    def gram(self) -> Array:
        """Inner products of all pairs of rows (n, n)."""
        total = np.zeros((len(self.taken), len(self.taken)))
        for block in blocks(self.taken.n_features, len(self.taken) * 8):
            columns = self.columns(block)
            total += columns @ columns.T
        return total
