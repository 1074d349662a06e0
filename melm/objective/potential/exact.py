"""The pairwise form: the oracle of the spectral one, and the only form beyond three components.

Sums run over row blocks, so memory stays bounded, and relative to the closest pair, so that well separated classes keep
their accuracy (plain sums underflow some forty kernel widths apart).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from melm.objective.potential import Gradient, Pair, whitening_basis
from melm.typing import Array

Chosen: TypeAlias = npt.NDArray[np.intp] | slice

BLOCK_PAIRS = 2**16  # pairs held at once: half a megabyte, which stays in a core's own cache
NEGLIGIBLE = 1e-17  # share of a potential that pruned pairs may hold


class ExactPotential:
    """log ip of one pair of classes over all pairs of rows, and its gradient."""

    def __init__(
        self,
        pair: Pair,
        Z: list[Array],
        S: Array,
        *,
        near_only: bool = False,
        rows: tuple[Chosen, Chosen] | None = None,
    ) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k).

        near_only: skip pairs too far to count. rows: sum over these rows of either class only.
        """
        self.pair = pair
        a, b = pair
        self._basis = whitening_basis(S[a] + S[b])
        A, B = Z[a] @ self._basis, Z[b] @ self._basis
        self._rows: tuple[Chosen, Chosen] = rows or (slice(None), slice(None))
        if near_only:
            self._rows = _near_rows(A, B)
        itself = a == b and rows is None
        A, B = A[self._rows[0]], B[self._rows[1]]
        closest, total, self._RA, self._RB = _self_sums(A) if itself else _cross_sums(A, B)
        self._RA /= total
        self._RB /= total
        self._second_moment = A.T @ self._RA + B.T @ self._RB
        n_components = A.shape[1]
        self.log_values = {
            pair: float(
                np.log(total)
                - np.log(len(Z[a]))
                - np.log(len(Z[b]))
                - closest / 2
                + np.linalg.slogdet(self._basis)[1]
                - n_components / 2 * np.log(2 * np.pi)
            )
        }

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of weight * log ip."""
        (a, b), weight = self.pair, weights[self.pair]
        gradient.rows[a][self._rows[0]] -= weight * self._RA @ self._basis.T
        gradient.rows[b][self._rows[1]] -= weight * self._RB @ self._basis.T
        T = self._basis
        smoothing = weight / 2 * T @ (self._second_moment - np.eye(len(T))) @ T.T
        gradient.smoothing[a] += smoothing
        gradient.smoothing[b] += smoothing


def exact_cost(n_a: int, n_b: int, same: bool) -> float:
    """Estimated seconds of value and gradient of one pair of classes."""
    return 6e-5 + 4e-9 * n_a * n_b / (2 if same else 1)


def _cross_sums(A: Array, B: Array) -> tuple[float, float, Array, Array]:
    """Closest squared distance m, and with K_ij = exp((m - |a_i - b_j|^2) / 2) sums of K_ij and K_ij (a_i - b_j)."""
    closest, total = np.inf, 0.0
    RA, RB = np.zeros_like(A), np.zeros_like(B)
    size = max(1, BLOCK_PAIRS // len(B))
    for begin in range(0, len(A), size):
        rows = A[begin : begin + size]
        K = cdist(rows, B, "sqeuclidean")
        low = float(K.min())
        if low < closest:
            rescale = np.exp((low - closest) / 2)
            total, closest = total * rescale, low
            RA[:begin] *= rescale
            RB *= rescale
        np.subtract(closest, K, out=K)
        K *= 0.5
        np.exp(K, out=K)
        sums = K.sum(axis=1)
        total += float(sums.sum())
        RA[begin : begin + size] = sums[:, None] * rows - K @ B
        RB += K.sum(axis=0)[:, None] * B - K.T @ rows
    return closest, total, RA, RB


def _self_sums(A: Array) -> tuple[float, float, Array, Array]:
    """The same for a class with itself: the closest pair is a row with itself, and each other pair is met once."""
    total = 0.0
    R = np.zeros_like(A)
    begin = 0
    while begin < len(A):
        size = max(1, BLOCK_PAIRS // (len(A) - begin))
        rows, later = A[begin : begin + size], A[begin + size :]
        K = cdist(rows, A[begin:], "sqeuclidean")
        K *= -0.5
        np.exp(K, out=K)
        sums, beyond = K.sum(axis=1), K[:, size:]
        total += float(sums.sum() + beyond.sum())
        R[begin : begin + size] += sums[:, None] * rows - K @ A[begin:]
        R[begin + size :] += beyond.sum(axis=0)[:, None] * later - beyond.T @ rows
        begin += size
    return 0.0, total, R, R.copy()


def _near_rows(A: Array, B: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of the rows that have a partner near enough, against the closest pair, to matter in the sum."""
    from_a, from_b = np.asarray(cKDTree(B).query(A)[0]), np.asarray(cKDTree(A).query(B)[0])
    reach = np.sqrt(from_a.min() ** 2 + 2 * np.log(len(A) * len(B) / NEGLIGIBLE))
    return np.flatnonzero(from_a <= reach), np.flatnonzero(from_b <= reach)
