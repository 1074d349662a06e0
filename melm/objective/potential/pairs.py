"""The pairwise form of all classes at once, for a stack of projections: best for few rows or many classes.

Rows of one class meet those of all later classes in one matrix product: with P_ab the inverse of S_a + S_b, the
exponent -1/2 (z_i - z_j)^T P_ab (z_i - z_j) is an inner product of features of z_i (its products, its entries, one) and
of features of z_j and b. Rows are relative to the mean of the class, to avoid cancellation of large squares.

The result of a projection does not depend on the others of its stack, bit for bit: a product of stacks is computed
matrix by matrix, and everything else entry by entry.
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
UNDERFLOWS = 1e-280  # a smaller sum of kernels is computed again, relative to its largest term


class PairSums:
    """log ip of all pairs of classes over all pairs of rows, for each of a stack of projections, and its gradient."""

    def __init__(self, Z: Array, S: Array, shares: Array, counts: Sequence[int]) -> None:
        """Z: projected rows (s, k, n), class after class; S: smoothing (s, C, k, k); shares: of the rows (s, n).

        `log_values` (s, P) are the log potentials of the pairs of classes, in the order of `pairs_of_classes`.
        """
        n_stacked, n_components, n_rows = Z.shape
        n_classes = len(counts)
        self._Z, self._shares = Z, shares
        self._counts = np.array(counts)
        self._begins = np.concatenate([[0], np.cumsum(self._counts)])
        first, second = _triangle(n_classes)
        bases = whitening_basis(S[:, first] + S[:, second])
        precisions = np.empty((n_stacked, n_classes, n_classes, n_components, n_components))
        precisions[:, first, second] = precisions[:, second, first] = bases @ bases.swapaxes(-1, -2)
        self._precisions = precisions
        # With weighted kernels K. By row i and class b: the sum over j in b of K_ij (z_i - z_j). By pair: the sums of
        # K and of K (z_i - z_j)^2.
        self._differences = np.empty((n_stacked, n_classes, n_components, n_rows))
        self._totals = np.empty((n_stacked, n_classes, n_classes))
        self._second_moments = np.empty((n_stacked, n_classes, n_classes, n_components, n_components))
        largest = np.empty((n_stacked, n_classes, n_classes))
        for code in range(n_classes):
            largest[:, code, code:] = self._add_class(code)
        self.log_values = (
            np.log(self._totals[:, first, second])
            + largest[:, first, second]
            + np.linalg.slogdet(bases)[1]
            - n_components / 2 * np.log(2 * np.pi)
        )

    def _add_class(self, a: int) -> Array:
        """Sums over rows of class a with those of classes b >= a, relative to exp of what is returned (s, C - a)."""
        begin, end = self._begins[a], self._begins[a + 1]
        n_a, counts, starts = end - begin, self._counts[a:], self._begins[a:-1] - begin
        share = np.full((n_a, 1), 1 / n_a)
        B = self._Z[:, :, begin:] - self._Z[:, :, begin:end] @ share
        A, w = B[:, :, :n_a], self._shares[:, None, begin:]
        sums = _ClassSums(_features(A), _partner_features(B, self._precisions[:, a, a:], counts), w, B, counts)
        from_a, from_b = sums.all()
        weights_of_a = w[:, 0, :n_a, None]
        totals = (from_a[:, :, 0] @ weights_of_a)[:, :, 0]
        largest = np.zeros_like(totals)
        low = np.flatnonzero((totals < UNDERFLOWS).any(axis=1))
        if len(low):
            largest[low] = sums.lower(low)
            from_a[low], from_b[low] = sums.all(low)
            totals[low] = (from_a[low, :, 0] @ weights_of_a[low])[:, :, 0]
        outward = w[:, None, :, :n_a] * (from_a[:, :, :1] * A[:, None] - from_a[:, :, 1:])  # (s, C - a, k, n_a)
        inward = w * (from_b[:, :1] * B - from_b[:, 1:])  # (s, k, n_b..)
        self._differences[:, a:, :, begin:end] = outward
        self._differences[:, a, :, end:] = inward[:, :, n_a:]
        self._totals[:, a, a:] = self._totals[:, a:, a] = totals
        moments = np.add.reduceat(inward[:, :, None] * B[:, None], starts, axis=-1).transpose(0, 3, 1, 2)
        moments = moments + outward @ A.swapaxes(1, 2)[:, None]
        self._second_moments[:, a, a:] = self._second_moments[:, a:, a] = moments
        return largest

    def gradient(self, slopes: Array) -> tuple[Array, Array]:
        """Derivatives in the rows (s, k, n) and in the smoothing (s, C, k, k) of a function of the log potentials.

        `slopes` (s, P) are its derivatives in `log_values`.
        """
        n_stacked, n_components, n_rows = self._Z.shape
        n_classes = len(self._counts)
        first, second = _triangle(n_classes)
        full = np.zeros((n_stacked, n_classes, n_classes))
        full[:, first, second] = slopes
        full += full.swapaxes(1, 2)  # a class with itself counts for both of its places
        P, totals = self._precisions, self._totals[..., None, None]
        pulls = full[..., None, None] / totals * P
        differences = self._differences.reshape(n_stacked, -1, n_rows)
        rows = np.empty_like(self._Z)
        for code in range(n_classes):
            members = slice(self._begins[code], self._begins[code + 1])
            pull = pulls[:, code].transpose(0, 2, 1, 3).reshape(n_stacked, n_components, -1)
            rows[:, :, members] = -(pull @ differences[:, :, members])
        by_pair = full[..., None, None] / 2 * (P @ (self._second_moments / totals) @ P - P)
        smoothing = by_pair[:, :, 0].copy()
        for code in range(1, n_classes):
            smoothing += by_pair[:, :, code]
        return rows, smoothing


class _ClassSums:
    """Sums of kernels between the rows of one class a and those of the classes b >= a."""

    def __init__(self, left: Array, right: Array, w: Array, B: Array, counts: npt.NDArray[np.intp]) -> None:
        """left (s, F, n_a) and right (s, F, n) give the exponents; w (s, 1, n) are shares, B (s, k, n) the rows."""
        self._left, self._right, self._counts = left, right, counts
        self._weighted = np.concatenate([w, w * B], axis=1)  # (s, 1 + k, n)
        self._ends = np.cumsum(counts)

    def all(self, chosen: npt.NDArray[np.intp] | slice = slice(None)) -> tuple[Array, Array]:
        """Sums of w_j exp_ij (1, z_j) over j in b (s, C - a, 1 + k, n_a), and of those of i in a (s, 1 + k, n)."""
        left, right, weighted = self._left[chosen].swapaxes(1, 2), self._right[chosen], self._weighted[chosen]
        n_stacked, n_a, n_rows = len(left), left.shape[1], right.shape[2]
        from_a = np.empty((n_stacked, len(self._counts), weighted.shape[1], n_a))
        from_b = np.zeros_like(weighted)
        together = max(1, BLOCK_PAIRS // (n_a * n_rows))
        size = min(n_a, max(1, BLOCK_PAIRS // n_rows))
        memory = np.empty((min(together, n_stacked), size, n_rows))
        for begin in range(0, n_stacked, together):
            some = slice(begin, begin + together)
            for row in range(0, n_a, size):
                block = slice(row, min(row + size, n_a))
                K = memory[: min(together, n_stacked - begin), : block.stop - row]
                np.matmul(left[some, block], right[some], out=K)
                np.exp(K, out=K)
                from_b[some] += weighted[some, :, block] @ K
                for place in range(1, len(self._counts)):
                    members = slice(self._ends[place - 1], self._ends[place])
                    from_a[some, place, :, block] = weighted[some, :, members] @ K[:, :, members].swapaxes(1, 2)
        from_a[:, 0] = from_b[:, :, :n_a]  # of a class with itself both are the same
        return from_a, from_b

    def lower(self, low: npt.NDArray[np.intp]) -> Array:
        """Lower the exponents of some projections by the largest of each class b, which is returned (s, C - a)."""
        n_a, n_rows = self._left.shape[2], self._right.shape[2]
        starts = self._ends - self._counts
        largest = np.full((len(low), n_rows), -np.inf)
        size = max(1, BLOCK_PAIRS // n_rows)
        for place, index in enumerate(low):
            counts_for_something = self._weighted[index, 0, :n_a] > 0
            left = self._left[index][:, counts_for_something].T
            for row in range(0, len(left), size):
                K = left[row : row + size] @ self._right[index]
                np.maximum(largest[place], K.max(axis=0), out=largest[place])
        largest[self._weighted[low, 0] == 0] = -np.inf
        by_class = np.maximum.reduceat(largest, starts, axis=1)
        self._right[low, -1] -= np.repeat(by_class, self._counts, axis=1)
        return by_class


class PairwisePotentials:
    """The same for one projection, with the interface of the other forms."""

    def __init__(self, Z: Sequence[Array], S: Array, shares: Sequence[Array]) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k); shares: of the rows in their classes."""
        rows = np.ascontiguousarray(np.concatenate(Z).T)
        self._sums = PairSums(rows[None], S[None], np.concatenate(shares)[None], [len(z) for z in Z])
        self._pairs = pairs_of_classes(len(Z))
        self.log_values = dict(zip(self._pairs, self._sums.log_values[0].tolist(), strict=True))

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip."""
        slopes = np.array([[weights.get(pair, 0.0) for pair in self._pairs]])
        rows, smoothing = self._sums.gradient(slopes)
        begin = 0
        for own in gradient.rows:
            own += rows[0, :, begin : begin + len(own)].T
            begin += len(own)
        gradient.smoothing += smoothing[0]


def pairwise_cost(counts: Sequence[int]) -> float:
    """Estimated seconds of value and gradient of all pairs of classes."""
    n_classes, n_rows = len(counts), sum(counts)
    n_pairs = (n_rows**2 + sum(count**2 for count in counts)) / 2
    return 3e-5 + 6e-5 * n_classes + 5e-6 * n_classes * (n_classes + 1) / 2 + 2e-9 * n_pairs


@cache
def pairs_of_classes(n_classes: int) -> tuple[Pair, ...]:
    """All pairs a <= b, in the order of `PairSums`."""
    return tuple(combinations_with_replacement(range(n_classes), 2))


@cache
def _triangle(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of the upper triangle of a matrix, cached because `triu_indices` takes longer than their use here."""
    first, second = np.array(pairs_of_classes(size)).T
    return first, second


def _features(A: Array) -> Array:
    """Products of entries, entries, and one: (s, F, n)."""
    first, second = _triangle(A.shape[1])
    return np.concatenate([A[:, first] * A[:, second], A, np.ones((len(A), 1, A.shape[2]))], axis=1)


def _partner_features(B: Array, precisions: Array, counts: npt.NDArray[np.intp]) -> Array:
    """The factors of the features of rows in the exponents: (s, F, n); precisions (s, C - a, k, k)."""
    n_components = B.shape[1]
    first, second = _triangle(n_components)
    factors = np.where(first == second, -0.5, -1.0)[:, None]
    P = np.repeat(precisions[:, :, first, second].swapaxes(1, 2), counts, axis=2)  # (s, pairs of components, n)
    PB, squares = np.zeros_like(B), np.zeros((len(B), 1, B.shape[2]))
    for place, (i, j) in enumerate(zip(first, second, strict=True)):
        PB[:, i] += P[:, place] * B[:, j]
        if i != j:
            PB[:, j] += P[:, place] * B[:, i]
    for component in range(n_components):
        squares[:, 0] += PB[:, component] * B[:, component]
    return np.concatenate([factors * P, PB, -0.5 * squares], axis=1)
