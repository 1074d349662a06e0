"""Row blocks: how arrays are worked through without a second copy of them."""

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
    """Sum over rows, each as often as it counts; the weights are those of a block of all of them."""
    sums: Array = rows.sum(axis=0, dtype=np.float64) if weights is None else weights[block] @ rows
    return sums


def divided(rows: npt.NDArray[Any], counts: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Rows that stand class after class as views of each class."""
    ends = np.cumsum(counts).tolist()
    return [rows[end - count : end] for end, count in zip(ends, counts, strict=True)]


def allot(counts: Sequence[int], n_rows: int) -> list[int]:
    """How many of n_rows each class gets: the same, because classes weigh the same, but never more than it has."""
    allotted = [0] * len(counts)
    left = n_rows
    for done, code in enumerate(sorted(range(len(counts)), key=lambda code: counts[code])):
        allotted[code] = min(counts[code], left // (len(counts) - done))
        left -= allotted[code]
    return allotted
