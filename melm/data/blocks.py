"""Row blocks: arrays are processed piece by piece, without a second copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def column_sums(rows: npt.NDArray[Any], weights: Array | None, block: slice) -> Array:
    """The weighted sum over rows. The weights are those of all rows, the rows those of a block."""
    sums: Array = rows.sum(axis=0, dtype=np.float64) if weights is None else weights[block] @ rows
    return sums


def times(A: npt.NDArray[Any], V: Array) -> Array:
    """A V for few columns of V, in the precision of A: column by column, which takes half the time of one product."""
    columns = np.ascontiguousarray(V.T, dtype=A.dtype)
    product = np.empty((len(A), len(columns)), order="F")
    for place, column in enumerate(columns):
        product[:, place] = A @ column
    return product


def divided(rows: npt.NDArray[Any], counts: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Views of each class, for rows that are sorted by class."""
    ends = np.cumsum(counts).tolist()
    return [rows[end - count : end] for end, count in zip(ends, counts, strict=True)]


def allot(counts: Sequence[int], n_rows: int) -> list[int]:
    """The number of rows of each class in a sample of n_rows: equal, as classes weigh the same, or all its rows."""
    allotted = [0] * len(counts)
    left = n_rows
    for done, code in enumerate(sorted(range(len(counts)), key=lambda code: counts[code])):
        allotted[code] = min(counts[code], left // (len(counts) - done))
        left -= allotted[code]
    return allotted
