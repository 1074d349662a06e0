"""The training rows in the form that the objective needs: sorted by class, and standardized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks, divided, times
from melm.data.row_space import RowSpace
from melm.data.taken import ScaledRows, Taken
from melm.typing import Array, Matrix


@dataclass(frozen=True)
class StandardizedRows:
    """Standardized rows by class, without constant features.

    Coordinates are the varying features or, if these are more than the rows, an orthonormal basis of the row space.
    """

    together: npt.NDArray[Any]  # (n, r), class after class; float32 if the data are
    counts: list[int]  # rows of each class
    center: Array  # (d,)
    scale: Array  # (d,), zero for constant features
    varying: npt.NDArray[np.bool_]  # (d,), False also for features left out by screening
    weights: list[Array] | None = None  # C of (n_c,), how often each row counts; None where each counts once
    space: RowSpace | None = None  # if the coordinates are not the features
    is_rounded: bool = False  # whether products are made in float32

    @classmethod
    def standardize(
        cls,
        X: Matrix,
        codes: npt.NDArray[np.intp],
        n_classes: int,
        chosen: npt.NDArray[np.intp] | None = None,
        weights: Array | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> StandardizedRows:
        """Sort the rows of X, or the chosen ones, by class code and standardize them: the only copy that a fit makes.

        `weights` (above zero) are those of the rows of X. Features that are not `kept` are left out like constant ones.
        """
        if weights is not None and chosen is not None:
            weights = weights[chosen]
        taken = Taken.of(X, chosen)
        scaled = ScaledRows.standardize(taken, weights)
        center, scale, factor = scaled.offset, scaled.scale, scaled.factor
        varying = factor > 0 if kept is None else (factor > 0) & kept
        members = [np.flatnonzero(codes == code) for code in range(n_classes)]
        counts = [len(index) for index in members]
        by_class_weights = None if weights is None else [weights[index] for index in members]
        order = np.concatenate(members)
        if not isinstance(taken, Taken) or RowSpace.needed(X, len(taken), int(varying.sum())):
            space = RowSpace.of(replace(scaled, factor=np.where(varying, factor, 0.0)), codes)
            return cls(space.coordinates[order], counts, center, scale, varying, by_class_weights, space)
        rows = np.empty((len(order), int(varying.sum())), dtype=taken.X.dtype)
        for block in blocks(len(order), taken.n_features * 8):
            rows[block] = (taken[order[block]][:, varying] - center[varying]) * factor[varying]
        return cls(rows, counts, center, scale, varying, by_class_weights)

    @property
    def by_class(self) -> list[npt.NDArray[Any]]:
        """The rows of each class: C of (n_c, r)."""
        return divided(self.together, self.counts)

    @property
    def sizes(self) -> list[float]:
        """The sum of the weights of each class: its number of rows if each counts once."""
        if self.weights is None:
            return [float(count) for count in self.counts]
        return [float(weights.sum()) for weights in self.weights]

    @property
    def shares(self) -> list[Array]:
        """The weight of each row in the mean of its class: C of (n_c,), adding up to 1."""
        if self.weights is None:
            return equal_shares(self.by_class)
        return [weights / weights.sum() for weights in self.weights]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows were given as a sparse matrix."""
        return self.space is not None and not isinstance(self.space.matrix.taken, Taken)

    @property
    def n_varying(self) -> int:
        """The number of features that are not constant."""
        return int(self.varying.sum())

    def project(self, V: Array) -> list[Array]:
        """Z_c = X_c V, class by class; V (r, k). Columns are contiguous: all that follows works on columns."""
        Z = np.empty((len(self.together), V.shape[1]), order="F")
        for block in blocks(*_size(self.together)):
            Z[block] = times(self._exact(block), V)
        return divided(Z, self.counts)

    def place(self, X: Matrix, projection: Array) -> Array:
        """The positions (m, k) of new rows by a projection of the features (d, k)."""
        return Taken.of(X).project(projection, self.center)

    def pull_back(self, dZ: Array) -> Array:
        """X^T dZ: the gradient in V from the gradients in the projected rows (n, k), class after class."""
        total = np.zeros((self.together.shape[1], dZ.shape[1]))
        for block in blocks(*_size(self.together)):
            total += times(self._exact(block).T, dZ[block])
        return total

    def rounded(self) -> StandardizedRows:
        """The same rows and products with them in float32: about six digits, in half the time."""
        return replace(self, together=self.together.astype(np.float32, copy=False), is_rounded=True)

    def _exact(self, block: slice) -> npt.NDArray[Any]:
        """Some rows, for products in the precision of the answer."""
        return self.together[block] if self.is_rounded else self.together[block].astype(np.float64, copy=False)

    def to_features(self, V: Array) -> Array:
        """A projection of these coordinates as one of the features (d, k)."""
        inverse = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.varying)
        return inverse[:, None] * self.embed(V)

    def from_features(self, V: Array) -> Array:
        """The inverse of `to_features`, for V up to directions in which the rows do not vary."""
        if self.space is None:
            return V[self.varying] * self.scale[self.varying, None]
        return self.space.from_features(self.scale[:, None] * V)

    def gradient_to_features(self, gradient: Array) -> Array:
        """A derivative in a projection of these coordinates as one in the projection of the features (d, k)."""
        return self.scale[:, None] * self.embed(gradient)

    def embed(self, V: Array) -> Array:
        """Vectors in these coordinates, converted to standardized features (d, k); constant features are zero."""
        if self.space is not None:
            return self.space.to_features(V)
        embedded = np.zeros((len(self.scale), V.shape[1]))
        embedded[self.varying] = V
        return embedded

    def basis(self, features: npt.NDArray[np.intp]) -> Array:
        """Some standardized features (m, r) in these coordinates."""
        if self.space is not None:
            return self.space.basis(features)
        places = np.cumsum(self.varying) - 1
        basis = np.zeros((len(features), self.n_varying))
        own = np.flatnonzero(self.varying[features])
        basis[own, places[features[own]]] = 1.0
        return basis


def equal_shares(rows: Sequence[npt.NDArray[Any]]) -> list[Array]:
    """Shares of the rows of each class if each counts once: views of one number, which take no memory."""
    return [np.broadcast_to(1 / len(block), len(block)) for block in rows]


def _size(rows: npt.NDArray[Any]) -> tuple[int, int]:
    """The number of rows, and the bytes of one as float64."""
    return len(rows), rows.shape[1] * 8
