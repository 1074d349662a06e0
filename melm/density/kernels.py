"""The kernels of one class, summed exactly: over all its rows, or over those near enough to matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from melm.objective.potential import whitening_basis
from melm.plan import Stopped
from melm.typing import Array, ShouldStop, never

BLOCK_PAIRS = 2**17  # distances held at once: a megabyte
FARTHEST = 1e300  # squared distances are clipped to this, so that log densities are finite however far a query lies
NEGLIGIBLE = 1e-10  # largest share of a density in the rows that are left out
LEAF_ROWS = 64  # of the tree of rows: half the memory of the usual, smaller leaves, and faster to build
CELL = 4.0  # side of the cells, in kernel widths, whose queries share the rows near them


@dataclass(frozen=True)
class Kernels:
    """Weighted kernels, in coordinates where each of them is the unit Gaussian."""

    basis: Array  # (k, k)
    rows: Array  # (n_c, k), whitened
    weights: Array | None  # (n_c,), adding up to 1; None for equal weights
    log_normalization: float

    @classmethod
    def prepare(cls, rows: Array, S: Array, weights: Array | None = None) -> Kernels:
        """Kernels of covariance S around rows."""
        basis = whitening_basis(S)
        share = np.log(len(rows)) if weights is None else 0.0
        log_normalization = np.linalg.slogdet(basis)[1] - S.shape[0] / 2 * np.log(2 * np.pi) - share
        return cls(basis, rows @ basis, weights, float(log_normalization))

    def log_density(self, Q: Array, should_stop: ShouldStop = never) -> Array:
        """Log density at whitened queries Q (n, k), over all rows: never 0/0 however far a query lies."""
        result: Array = _log_sums(Q, self.rows, self.weights, should_stop) + self.log_normalization
        return result

    def log_density_by_near_rows(self, Q: Array, should_stop: ShouldStop = never) -> Array:
        """The same over the rows near each query only: fast for queries in the tails, with few rows near them."""
        result = np.empty(len(Q))
        for members, center in _cells(Q):
            # Rows out of reach of every query in the cell add less than NEGLIGIBLE to the kernel of the nearest row.
            radius = float(np.sqrt(np.square(Q[members] - center).sum(axis=1).max()))
            nearest = float(self._tree.query(center)[0]) + radius
            reach = np.hypot(nearest, np.sqrt(-2 * np.log(NEGLIGIBLE * self._smallest_weight))) + radius
            near = np.array(self._tree.query_ball_point(center, reach), dtype=np.intp)
            weights = None if self.weights is None else self.weights[near]
            result[members] = _log_sums(Q[members], self.rows[near], weights, should_stop)
        log_density: Array = result + self.log_normalization
        return log_density

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.rows, leafsize=LEAF_ROWS)

    @property
    def _smallest_weight(self) -> float:
        return 1 / len(self.rows) if self.weights is None else float(self.weights.min())


def _log_sums(Q: Array, rows: Array, weights: Array | None, should_stop: ShouldStop) -> Array:
    """log of the sum of weight * exp(-|q - row|^2 / 2) over rows, relative to the nearest one."""
    result = np.empty(len(Q))
    size = max(1, BLOCK_PAIRS // len(rows))
    with np.errstate(over="ignore"):
        for begin in range(0, len(Q), size):
            if should_stop():
                raise Stopped
            K = cdist(Q[begin : begin + size], rows, "sqeuclidean")
            np.minimum(K, FARTHEST, out=K)
            nearest = K.min(axis=1)
            K -= nearest[:, None]
            K *= -0.5
            np.exp(K, out=K)
            sums = K.sum(axis=1) if weights is None else K @ weights
            result[begin : begin + size] = np.log(sums) - nearest / 2
    return result


def _cells(Q: Array) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
    """Queries by cell of a lattice: their indices, and the center of their extent."""
    cells = np.floor(Q / CELL)
    order = np.lexsort(cells.T)
    cells = cells[order]
    borders = np.flatnonzero((cells[1:] != cells[:-1]).any(axis=1)) + 1
    for members in np.split(order, borders):
        yield members, (Q[members].min(axis=0) + Q[members].max(axis=0)) / 2
