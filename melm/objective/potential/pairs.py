"""The pairwise form of all classes at once: what few rows in many classes need.

Rows of one class meet those of all later classes in one matrix product: with P_ab the inverse of S_a + S_b, the
exponent -1/2 (z_i - z_j)^T P_ab (z_i - z_j) is an inner product of features of z_i (its products, its entries, one) and
of features of z_j and b. Rows are seen from the mean of the class, so that the squares that cancel stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from melm.objective.potential import Gradient, Pair, whitening_basis
from melm.typing import Array

BLOCK_PAIRS = 2**16  # pairs held at once: half a megabyte, which stays in a core's own cache


class PairwisePotentials:
    """log ip of all pairs of classes over all pairs of rows, and its gradient."""

    def __init__(self, Z: Sequence[Array], S: Array, shares: Sequence[Array]) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k); shares: of the rows in their classes."""
        self._counts = np.array([len(z) for z in Z])
        self._begins = np.concatenate([[0], np.cumsum(self._counts)])
        n_classes, n_components = S.shape[:2]
        self._first, self._second = _triangle(n_classes)
        bases = whitening_basis(S[self._first] + S[self._second])
        precisions = np.empty((n_classes, n_classes, n_components, n_components))
        precisions[self._first, self._second] = precisions[self._second, self._first] = bases @ bases.swapaxes(1, 2)
        self._precisions = precisions
        rows = np.concatenate(Z)
        self._shares = np.concatenate(shares)[:, None]
        # With weighted kernels K. By row i and class b: the sum over j in b of K_ij (z_i - z_j). By pair: the sums of
        # K and of K (z_i - z_j)^2.
        self._differences = np.empty((len(rows), n_classes, n_components))
        self._totals = np.empty((n_classes, n_classes))
        self._second_moments = np.empty((n_classes, n_classes, n_components, n_components))
        largest = np.empty((n_classes, n_classes))
        for code in range(n_classes):
            largest[code, code:] = self._add_class(code, rows)
        logs = (
            np.log(self._totals[self._first, self._second])
            + largest[self._first, self._second]
            + np.linalg.slogdet(bases)[1]
            - n_components / 2 * np.log(2 * np.pi)
        )
        self.log_values = dict(zip(_pairs(n_classes), logs.tolist(), strict=True))

    def _add_class(self, a: int, rows: Array) -> Array:
        """Sums over rows of class a with those of classes b >= a, relative to exp of the exponents returned."""
        begin, end = self._begins[a], self._begins[a + 1]
        counts, starts = self._counts[a:], self._begins[a:-1] - begin
        B = rows[begin:] - rows[begin:end].mean(axis=0)
        A, w = B[: end - begin], self._shares[begin:]
        left = _features(A)
        right = _partner_features(B, np.repeat(self._precisions[a, a:], counts, axis=0))
        weighted = np.concatenate([w, w * B], axis=1)
        from_a = np.empty((len(A), len(counts), weighted.shape[1]))  # sums of w_j exp_ij (1, z_j) over j in b
        from_b = np.zeros_like(weighted)  # sums of w_i exp_ij (1, z_i) over i in a
        largest = np.full(len(counts), -np.inf)
        size = max(1, BLOCK_PAIRS // len(B))
        for row in range(0, len(A), size):
            block = slice(row, min(row + size, len(A)))
            K = left[block] @ right
            higher = np.maximum(largest, np.maximum.reduceat(K.max(axis=0), starts))
            if row:
                shrunk = np.exp(largest - higher)
                from_a[:row] *= shrunk[:, None]
                from_b *= np.repeat(shrunk, counts)[:, None]
            largest = higher
            K -= np.repeat(largest, counts)
            np.exp(K, out=K)
            from_b += K.T @ weighted[block]
            for place, (first, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True)):
                members = slice(first, first + count)
                from_a[block, place] = K[:, members] @ weighted[members]
        from_a *= w[: len(A), None]
        outward = from_a[:, :, :1] * A[:, None, :] - from_a[:, :, 1:]  # (n_a, C - a, k)
        inward = w * (from_b[:, :1] * B - from_b[:, 1:])  # (n_b.., k)
        self._differences[begin:end, a:] = outward
        self._differences[end:, a] = inward[end - begin :]
        self._totals[a, a:] = self._totals[a:, a] = from_a[:, :, 0].sum(axis=0)
        moments = np.add.reduceat(B[:, :, None] * inward[:, None, :], starts, axis=0)
        moments += (A.T @ outward.reshape(len(A), -1)).reshape(A.shape[1], len(counts), -1).swapaxes(0, 1)
        self._second_moments[a, a:] = self._second_moments[a:, a] = moments
        return largest

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip."""
        n_classes = len(self._counts)
        slopes = np.zeros((n_classes, n_classes))
        slopes[self._first, self._second] = [weights.get(pair, 0.0) for pair in _pairs(n_classes)]
        slopes += slopes.T  # a class with itself counts for both of its places
        pulls = (slopes / self._totals)[:, :, None, None] * self._precisions
        by_class = np.split(self._differences, self._begins[1:-1])
        for code, differences in enumerate(by_class):
            n_rows, _, n_components = differences.shape
            gradient.rows[code] -= differences.reshape(n_rows, -1) @ pulls[code].reshape(-1, n_components)
        P, moments = self._precisions, self._second_moments / self._totals[:, :, None, None]
        gradient.smoothing += (slopes[:, :, None, None] / 2 * (P @ moments @ P - P)).sum(axis=1)


def pairwise_cost(counts: Sequence[int]) -> float:
    """Estimated seconds of value and gradient of all pairs of classes."""
    n_classes, n_rows = len(counts), sum(counts)
    n_pairs = (n_rows**2 + sum(count**2 for count in counts)) / 2
    return 3e-5 + 6e-5 * n_classes + 5e-6 * n_classes * (n_classes + 1) / 2 + 7e-9 * n_pairs


@cache
def _pairs(n_classes: int) -> tuple[Pair, ...]:
    return tuple(combinations_with_replacement(range(n_classes), 2))


@cache
def _triangle(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of the upper triangle of a matrix: `triu_indices`, which costs more than what is done with them here."""
    first, second = np.array(_pairs(size)).T
    return first, second


def _features(A: Array) -> Array:
    """Products of entries, entries, and one: (n, F)."""
    first, second = _triangle(A.shape[1])
    return np.concatenate([A[:, first] * A[:, second], A, np.ones((len(A), 1))], axis=1)


def _partner_features(B: Array, precisions: Array) -> Array:
    """What the features of rows are multiplied by to give exponents: (F, n); precisions (n, k, k)."""
    first, second = _triangle(B.shape[1])
    factors = np.where(first == second, -0.5, -1.0)
    PB = np.einsum("nkl,nl->nk", precisions, B)
    squares = np.einsum("nk,nk->n", PB, B)
    features: Array = np.concatenate([(precisions[:, first, second] * factors).T, PB.T, -0.5 * squares[None]])
    return features
