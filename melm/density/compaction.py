"""Densities of very many rows, held by fewer: rows that share a small cell are replaced by their mean.

A kernel hardly sees where inside a small part of its width a row lies, and in dense places the errors of many rows
cancel. Rows that have a cell to themselves, as in the tails, stay exactly where they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from melm.data.rows import equal_shares
from melm.density import GRID_COMPONENTS, ClassDensities
from melm.objective.potential import whitening_basis
from melm.typing import Array

COMPACT_BYTES = 2**21  # rows are kept as they are up to this size
CELL = 0.4  # side of a cell in kernel widths: changes log densities by about 4e-4 at 10^6 rows, at most some 3e-3


def compact(densities: ClassDensities) -> ClassDensities:
    """The densities by fewer, weighted rows; themselves where they are small, or where that would not halve them."""
    n_bytes = sum(rows.nbytes for rows in densities.rows)
    if n_bytes <= COMPACT_BYTES or densities.smoothing.shape[1] > GRID_COMPONENTS:
        return densities
    shares = densities.weights or equal_shares(densities.rows)
    merged = [_merge(*of_class) for of_class in zip(densities.rows, densities.smoothing, shares, strict=True)]
    if 2 * sum(rows.nbytes + weights.nbytes for rows, weights in merged) > n_bytes:
        return densities
    return replace(densities, rows=[rows for rows, _ in merged], weights=[weights for _, weights in merged])


def _merge(rows: Array, S: Array, shares: Array) -> tuple[Array, Array]:
    """Means of the rows of each occupied cell, and the share of the rows that it holds."""
    cells = np.floor(rows @ whitening_basis(S) / CELL)
    order = np.lexsort(cells.T)
    cells = cells[order]
    first = np.flatnonzero(np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)]))
    held: Array = np.add.reduceat(shares[order], first)
    means: Array = np.add.reduceat(shares[order, None] * rows[order], first, axis=0) / held[:, None]
    return means, held
