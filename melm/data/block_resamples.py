"""Folds, permuted labels and bootstrap samples of rows in blocks, by random numbers that depend on a row's index only.

The result for a row does not depend on the blocks or on where they are processed, and no rows have to be gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.data.row_blocks import A, RowBlock, RowBlocks
from melm.plan import Bootstrap, Fold, Resamples, Shuffle
from melm.typing import Array

MOST_DRAWN = 20  # limit on how often a row is in a bootstrap sample


@dataclass(frozen=True)
class ResampledBlocks:
    """The blocks of resampled rows, with their labels."""

    blocks: RowBlocks
    resamples: Resamples
    shares: Array  # (C,), of the classes among all rows
    holds_out: bool = False  # whether these are the held-out rows of the last resample, a fold

    @property
    def n_features(self) -> int:
        return self.blocks.n_features

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments)."""
        resampling = (self.resamples, self.shares, self.holds_out)
        found: A = self.blocks.total(_of_resampled, *resampling, function, *arguments)
        return found


def _of_resampled(
    block: RowBlock,
    resamples: Resamples,
    shares: Array,
    holds_out: bool,
    function: Callable[..., A],
    *arguments: object,
) -> A:
    rows, codes = resample(block, resamples, shares, holds_out=holds_out)
    return function(RowBlock(block.X[rows], codes, block.index[rows]), *arguments)


def resample(
    block: RowBlock, resamples: Resamples, shares: Array, *, holds_out: bool = False
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """Indices of the resampled rows, which may repeat, and their codes.

    Permuted labels are drawn by the shares of the classes. In a bootstrap sample, the count of a row has a Poisson
    distribution, which is the limit for many rows that are drawn one by one.
    """
    rows, codes = np.arange(len(block.codes)), block.codes
    for place, step in enumerate(resamples):
        lots = RowBlock(block.X, codes, block.index[rows]).uniform(_salted(step, place)) if len(rows) else np.empty(0)
        if isinstance(step, Fold):
            hidden = np.floor(lots * step.n_folds) == step.index
            kept = np.flatnonzero(hidden if holds_out and place == len(resamples) - 1 else ~hidden)
            rows, codes = rows[kept], codes[kept]
        elif isinstance(step, Shuffle):
            ends = np.cumsum(shares)
            codes = np.minimum(np.searchsorted(ends, lots * ends[-1], side="right"), len(ends) - 1).astype(np.int32)
        elif isinstance(step, Bootstrap):
            times = np.searchsorted(_POISSON, lots, side="right")
            rows, codes = np.repeat(rows, times), np.repeat(codes, times)
    return rows, codes


def _salted(step: object, place: int) -> int:
    """A seed for one resample that differs from those of other kinds, of outer resamples, and of the sample."""
    kinds = (Fold, Shuffle, Bootstrap)
    kind = next((number for number, kind in enumerate(kinds) if isinstance(step, kind)), len(kinds))
    return int(np.random.SeedSequence([getattr(step, "seed", 0), kind, place]).generate_state(1, np.uint64)[0])


def _poisson() -> Array:
    """The cumulative Poisson distribution with mean 1: the probability of at most 0, 1, 2, ... draws of a row."""
    times = np.arange(1, MOST_DRAWN)
    ends: Array = np.cumsum(np.exp(-1) / np.concatenate([[1.0], np.cumprod(times, dtype=np.float64)]))
    return ends


_POISSON = _poisson()
