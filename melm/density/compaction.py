"""Compaction of densities with very many rows: rows that share a small cell are replaced by their mean.

Cells are small relative to the kernel width, so positions within a cell hardly matter, and in dense regions the errors
of many rows cancel. Rows that are alone in their cell, as in the tails, are kept exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from melm.data.row_blocks import RowBlock, RowBlocks
from melm.data.rows import equal_shares
from melm.density import GRID_COMPONENTS, ClassDensities
from melm.objective.potential import whitening_basis
from melm.typing import Array

COMPACT_BYTES = 2**21  # rows are kept as they are up to this size
CELL = 0.4  # side of a cell in kernel widths: changes log densities by about 4e-4 at 10^6 rows, at most some 3e-3


def compact(densities: ClassDensities) -> ClassDensities:
    """The densities with fewer, weighted rows; unchanged if they are small, or if that would not halve them."""
    n_bytes = sum(rows.nbytes for rows in densities.rows)
    if n_bytes <= COMPACT_BYTES or densities.smoothing.shape[1] > GRID_COMPONENTS:
        return densities
    shares = densities.weights or equal_shares(densities.rows)
    merged = [_merge(*of_class) for of_class in zip(densities.rows, densities.smoothing, shares, strict=True)]
    if 2 * sum(rows.nbytes + weights.nbytes for rows, weights in merged) > n_bytes:
        return densities
    return replace(densities, rows=[rows for rows, _ in merged], weights=[weights for _, weights in merged])


def merge_blocks(blocks: RowBlocks, projection: Array, offset: Array, S: Array) -> list[tuple[Array, Array]]:
    """The same for rows beyond memory: means of occupied cells by class, and the share of the rows in each."""
    bases = np.stack([whitening_basis(smoothing) for smoothing in S]) / CELL
    cells = blocks.total(_cells_of_block, projection, offset, bases)
    return [(own.sums / own.counts[:, None], own.counts / own.counts.sum()) for own in cells.by_class]


@dataclass(frozen=True)
class GridCells:
    """Rows of one class, summed by cell."""

    places: npt.NDArray[np.int64]  # (m, k), each once
    counts: Array  # (m,)
    sums: Array  # (m, k), of the rows

    @classmethod
    def of(cls, places: npt.NDArray[np.int64], counts: Array, sums: Array) -> GridCells:
        """Merge cells with equal places."""
        if len(places) == 0:
            return cls(places, counts, sums)
        order = np.lexsort(places.T)
        places = places[order]
        first = np.flatnonzero(np.concatenate([[True], (places[1:] != places[:-1]).any(axis=1)]))
        return cls(places[first], np.add.reduceat(counts[order], first), np.add.reduceat(sums[order], first, axis=0))

    def __add__(self, other: Self) -> GridCells:
        return GridCells.of(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.sums, other.sums]),
        )


@dataclass(frozen=True)
class _CellsByClass:
    by_class: list[GridCells]

    def __add__(self, other: Self) -> _CellsByClass:
        return _CellsByClass([a + b for a, b in zip(self.by_class, other.by_class, strict=True)])


def _cells_of_block(block: RowBlock, projection: Array, offset: Array, bases: Array) -> _CellsByClass:
    Z = (block.X - offset) @ projection
    by_class = []
    for code, basis in enumerate(bases):
        own = Z[block.codes == code]
        by_class.append(GridCells.of(np.floor(own @ basis).astype(np.int64), np.ones(len(own)), own))
    return _CellsByClass(by_class)


def _merge(rows: Array, S: Array, shares: Array) -> tuple[Array, Array]:
    """Means of the rows in each occupied cell, and the share of the rows in it."""
    places = np.floor(rows @ whitening_basis(S) / CELL).astype(np.int64)
    cells = GridCells.of(places, shares, shares[:, None] * rows)
    return cells.sums / cells.counts[:, None], cells.counts
