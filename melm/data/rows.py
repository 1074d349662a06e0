"""The training rows as the objective wants them: sorted by class, centered, each feature divided by its spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.typing import Array

BLOCK_BYTES = 4 * 2**20


def blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Slices that cut n_rows into pieces of about BLOCK_BYTES."""
    size = max(1, BLOCK_BYTES // max(1, row_bytes))
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows))


@dataclass(frozen=True)
class Rows:
    """Standardized rows by class. Constant features are left out: nothing can be learned from them."""

    by_class: list[npt.NDArray[Any]]  # C of (n_c, d_varying), float32 where the data was
    center: Array  # (d,)
    scale: Array  # (d,), zero for constant features
    varying: npt.NDArray[np.bool_]  # (d,)
    weights: list[Array] | None = None  # C of (n_c,), how often each row counts; None where each counts once

    @classmethod
    def standardize(
        cls,
        X: npt.NDArray[Any],
        codes: npt.NDArray[np.intp],
        n_classes: int,
        chosen: npt.NDArray[np.intp] | None = None,
        weights: Array | None = None,
    ) -> Rows:
        """Sort the rows of X, or those chosen, by class code and standardize them: the one copy that a fit makes.

        `weights` (above zero) are those of the rows of X.
        """
        taken = _Taken(X, chosen)
        if weights is not None and chosen is not None:
            weights = weights[chosen]
        low, high = np.array([[rows.min(axis=0), rows.max(axis=0)] for rows in taken.blocks()]).swapaxes(0, 1)
        varying = high.max(axis=0) > low.min(axis=0)
        if not varying.any():
            raise ValueError("All features are constant: there is nothing to project.")
        center, scale = _moments(taken, weights)
        scale[~varying] = 0.0
        if not np.isfinite(scale).all():
            feature = int(np.argmin(np.isfinite(scale)))
            raise ValueError(f"The values of feature {feature} are too large to compute their variance.")
        inverse = 1 / scale[varying]
        by_class, members = [], [np.flatnonzero(codes == code) for code in range(n_classes)]
        for index in members:
            rows = np.empty((len(index), int(varying.sum())), dtype=X.dtype)
            for block in blocks(len(index), X.shape[1] * 8):
                rows[block] = (taken[index[block]][:, varying] - center[varying]) * inverse
            by_class.append(rows)
        by_class_weights = None if weights is None else [weights[index] for index in members]
        return cls(by_class, center, scale, varying, by_class_weights)

    @property
    def counts(self) -> list[int]:
        return [len(rows) for rows in self.by_class]

    @property
    def sizes(self) -> list[float]:
        """The sum of the weights of each class: its number of rows, where each counts once."""
        if self.weights is None:
            return [float(count) for count in self.counts]
        return [float(weights.sum()) for weights in self.weights]

    @property
    def shares(self) -> list[Array]:
        """What each row adds to the mean over its class: C of (n_c,), adding up to 1."""
        if self.weights is None:
            return equal_shares(self.by_class)
        return [weights / weights.sum() for weights in self.weights]

    def project(self, V: Array) -> list[Array]:
        """Z_c = X_c V, class by class; V (d_varying, k). Columns are contiguous: all that follows works on columns."""
        return [_product(rows, V) for rows in self.by_class]

    def pull_back(self, dZ: Sequence[Array]) -> Array:
        """Sum over classes of X_c^T dZ_c: the gradient in V from the gradients in the projected rows."""
        total = np.zeros((self.by_class[0].shape[1], dZ[0].shape[1]))
        for rows, gradient in zip(self.by_class, dZ, strict=True):
            columns = np.ascontiguousarray(gradient.T)
            for block in blocks(len(rows), rows.shape[1] * 8):
                total += (columns[:, block] @ rows[block].astype(np.float64, copy=False)).T
        return total

    def to_features(self, V: Array) -> Array:
        """A projection of standardized varying features, as one of the features themselves (d, k)."""
        projection = np.zeros((len(self.scale), V.shape[1]))
        projection[self.varying] = V / self.scale[self.varying, None]
        return projection

    def from_features(self, V: Array) -> Array:
        """The inverse of `to_features`."""
        return V[self.varying] * self.scale[self.varying, None]


def equal_shares(rows: Sequence[npt.NDArray[Any]]) -> list[Array]:
    """Shares of the rows of each class where each counts once: views of one number, which take no memory."""
    return [np.broadcast_to(1 / len(block), len(block)) for block in rows]


def _product(rows: npt.NDArray[Any], V: Array) -> Array:
    Z = np.empty((len(rows), V.shape[1]), order="F")
    for block in blocks(len(rows), rows.shape[1] * 8):
        Z[block] = rows[block].astype(np.float64, copy=False) @ V
    return Z


@dataclass(frozen=True)
class _Taken:
    """All rows of X or some of them, never copied but block by block."""

    X: npt.NDArray[Any]  # (n, d)
    chosen: npt.NDArray[np.intp] | None

    def __len__(self) -> int:
        return len(self.X) if self.chosen is None else len(self.chosen)

    def __getitem__(self, index: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        return self.X[index] if self.chosen is None else self.X[self.chosen[index]]

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        """The rows one after the other, some together."""
        return (self[block] for block in self.slices())

    def slices(self) -> Iterator[slice]:
        return blocks(len(self), self.X.shape[1] * 8)


def _moments(taken: _Taken, weights: Array | None) -> tuple[Array, Array]:
    """Mean and standard deviation (ddof 0) of each column, in two passes over row blocks."""
    n_features = taken.X.shape[1]
    size = len(taken) if weights is None else weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.zeros(n_features)
        for block in taken.slices():
            total += column_sums(taken[block], weights, block)
        center = total / size
        squares = np.zeros(n_features)
        for block in taken.slices():
            squares += column_sums(np.square(taken[block] - center), weights, block)
        return center, np.sqrt(squares / size)


def column_sums(rows: npt.NDArray[Any], weights: Array | None, block: slice) -> Array:
    """Sum over rows, each as often as it counts; the weights are those of a block of all of them."""
    sums: Array = rows.sum(axis=0, dtype=np.float64) if weights is None else weights[block] @ rows
    return sums
