"""The pairwise form: the reference for the spectral one, and the only form beyond three components.

Sums run over row blocks, so that memory is bounded. They are relative to the closest pair, so that well separated
classes keep their accuracy (plain sums underflow at a distance of about forty kernel widths).
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
        shares: list[Array],
        *,
        near_only: bool = False,
        rows: tuple[Chosen, Chosen] | None = None,
    ) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k); shares: of the rows in their classes.

        near_only: skip pairs that are too far apart to matter. rows: sum over these rows of each class only.
        """
        self.pair = pair
        a, b = pair
        self._basis = whitening_basis(S[a] + S[b])
        A, B = Z[a] @ self._basis, Z[b] @ self._basis
        self._rows: tuple[Chosen, Chosen] = rows or (slice(None), slice(None))
        if near_only:
            least = shares[a][shares[a] > 0].min() * shares[b][shares[b] > 0].min()
            self._rows = _near_rows(A, B, float(least))
        itself = a == b and rows is None
        A, B = A[self._rows[0]], B[self._rows[1]]
        wa, wb = shares[a][self._rows[0], None], shares[b][self._rows[1], None]
        closest, total, self._RA, self._RB = _self_sums(A, wa) if itself else _cross_sums(A, B, wa, wb)
        self._RA /= total
        self._RB /= total
        self._second_moment = A.T @ self._RA + B.T @ self._RB
        n_components = A.shape[1]
        self.log_values = {
            pair: float(
                np.log(total) - closest / 2 + np.linalg.slogdet(self._basis)[1] - n_components / 2 * np.log(2 * np.pi)
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


def _cross_sums(A: Array, B: Array, wa: Array, wb: Array) -> tuple[float, float, Array, Array]:
    """Closest squared distance m, and with K_ij = w_i w_j exp((m - |a_i - b_j|^2) / 2) sums of K_ij, K_ij (a_i - b_j).

    The weights are columns (n, 1).
    """
    closest, total = np.inf, 0.0
    RA, RB = np.empty_like(A), np.zeros_like(B)
    weighted_A, weighted_B = np.hstack([wa, wa * A]), np.hstack([wb, wb * B])
    size = max(1, BLOCK_PAIRS // len(B))
    for begin in range(0, len(A), size):
        block = slice(begin, begin + size)
        K = cdist(A[block], B, "sqeuclidean")
        low = float(K.min())
        if low < closest:
            rescale = np.exp((low - closest) / 2)
            total, closest = total * rescale, low
            RA[:begin] *= rescale
            RB *= rescale
        np.subtract(closest, K, out=K)
        K *= 0.5
        np.exp(K, out=K)
        over_b, over_a = K @ weighted_B, K.T @ weighted_A[block]
        total += float(over_a[:, 0] @ wb[:, 0])
        RA[block] = wa[block] * (over_b[:, :1] * A[block] - over_b[:, 1:])
        RB += wb * (over_a[:, :1] * B - over_a[:, 1:])
    return closest, total, RA, RB


def _self_sums(A: Array, w: Array) -> tuple[float, float, Array, Array]:
    """The same for a class with itself: the closest pair is a row with itself, and each other pair is computed once."""
    total = 0.0
    R = np.zeros_like(A)
    weighted = np.hstack([w, w * A])
    begin = 0
    while begin < len(A):
        size = max(1, BLOCK_PAIRS // (len(A) - begin))
        block, later = slice(begin, begin + size), slice(begin + size, None)
        K = cdist(A[block], A[begin:], "sqeuclidean")
        K *= -0.5
        np.exp(K, out=K)
        onwards, beyond = K @ weighted[begin:], K[:, size:].T @ weighted[block]
        total += float(onwards[:, 0] @ w[block, 0] + beyond[:, 0] @ w[later, 0])
        R[block] += w[block] * (onwards[:, :1] * A[block] - onwards[:, 1:])
        R[later] += w[later] * (beyond[:, :1] * A[later] - beyond[:, 1:])
        begin += size
    return 0.0, total, R, R.copy()


def _near_rows(A: Array, B: Array, least: float) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of the rows with a partner that is near enough, relative to the closest pair, to matter in the sum.

    `least` is the smallest product of the shares of two rows.
    """
    from_a, from_b = np.asarray(cKDTree(B).query(A)[0]), np.asarray(cKDTree(A).query(B)[0])
    reach = np.sqrt(from_a.min() ** 2 - 2 * np.log(NEGLIGIBLE * least))
    return np.flatnonzero(from_a <= reach), np.flatnonzero(from_b <= reach)
