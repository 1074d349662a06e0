"""Labeled rows beyond memory: a sample of them in memory, and the blocks of all rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from melm.data.block_moments import BlockMoments
from melm.data.block_resamples import ResampledBlocks, resample
from melm.data.blocks import allot
from melm.data.covariance import CovarianceKind
from melm.data.labeled import Labeled, Tables
from melm.data.prepared_rows import PreparedRows
from melm.data.row_blocks import RowBlock, RowBlocks
from melm.plan import NothingFitted, Resamples, Sampled, Selection
from melm.typing import Array, Matrix

SAMPLE_ROWS = 40_000  # on which choices are made
KEPT_MOMENTS = 3  # of resamples, each with its sample


@dataclass
class LabeledBlocks(Labeled):
    """X and codes are a sample of the rows. Fits and their scores use all rows, except on `Sampled` resamples.

    Folds, permuted labels and bootstrap samples use random numbers that depend on a row's index, in sample and blocks.
    """

    blocks: RowBlocks = field(kw_only=True)
    moments: BlockMoments = field(kw_only=True)
    index: npt.NDArray[np.uint64] = field(kw_only=True)  # (n,), of the rows of the sample among all rows
    _moments: OrderedDict[Resamples, BlockMoments] = field(default_factory=OrderedDict, kw_only=True)

    @classmethod
    def of(cls, blocks: RowBlocks, classes: npt.NDArray[Any], feature_names: list[str] | None, seed: int) -> Self:
        """Read the sample and the moments from the blocks, in three passes."""
        moments = BlockMoments.of(blocks, len(classes), seed)
        counts = moments.extent.counts.tolist()
        if min(counts) < 2:
            label = classes.tolist()[counts.index(min(counts))]
            raise ValueError(f"Every class needs at least 2 rows, class {label!r} has {min(counts)}.")
        sampled = moments.drawn.lowest(np.array(allot(counts, SAMPLE_ROWS)))
        codes = sampled.codes.astype(np.intp)
        return cls(sampled.rows, codes, classes, feature_names, blocks=blocks, moments=moments, index=sampled.index)

    @property
    def n_rows(self) -> int:
        """The number of rows in all blocks."""
        return int(self.moments.extent.counts.sum())

    @property
    def fingerprint(self) -> bytes:
        """A digest that is equal for equal rows in equal blocks, and almost certainly differs for others."""
        extent = self.moments.extent
        return b"".join(part.tobytes() for part in (extent.counts, extent.sums, extent.low, extent.high))

    @property
    def for_choices(self) -> Resamples:
        """Choices are made on the sample."""
        return (Sampled(),)

    def select(self, resamples: Resamples) -> Selection:
        """The training rows of the resamples that are in the sample."""
        return self._select(resamples, holds_out=False)

    def hold_out(self, resamples: Resamples) -> Selection:
        """The held-out rows of the last resample, a fold, that are in the sample."""
        return self._select(resamples, holds_out=True)

    def row_numbers(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The numbers of these rows of the sample among all rows."""
        return self.index[rows].astype(np.intp)

    def tabulate(self, resamples: Resamples, predict: Callable[[Matrix], npt.NDArray[np.intp]]) -> Tables:
        """The confusion matrices of the held-out rows of the last resample, in all blocks."""
        held_out = ResampledBlocks(self.blocks, resamples, self._shares, holds_out=True)
        return held_out.total(_tabulate, predict, len(self.classes))

    def moments_of(self, resamples: Resamples) -> BlockMoments:
        """The moments of the training rows of the resamples, in all blocks. The last few are cached."""
        if not resamples:
            return self.moments
        if resamples not in self._moments:
            while len(self._moments) >= KEPT_MOMENTS:
                self._moments.popitem(last=False)
            blocks = ResampledBlocks(self.blocks, resamples, self._shares)
            self._moments[resamples] = BlockMoments.of(blocks, len(self.classes), 0)
        self._moments.move_to_end(resamples)
        found = self._moments[resamples]
        if found.extent.counts.min() < 1:
            raise NothingFitted("A fold leaves no row of some class for training.")
        return found

    def _prepare(
        self, covariance: CovarianceKind, resamples: Resamples, ridge: float, n_kept: int | None
    ) -> PreparedRows:
        if n_kept is not None or Sampled() in resamples:
            return super()._prepare(covariance, resamples, ridge, n_kept)
        blocks = ResampledBlocks(self.blocks, resamples, self._shares) if resamples else self.blocks
        return PreparedRows.of_blocks(blocks, self.moments_of(resamples), covariance, ridge)

    def _select(self, resamples: Resamples, *, holds_out: bool) -> Selection:
        sample = RowBlock(self.X, self.codes.astype(np.int32), self.index)
        rows, codes = resample(sample, resamples, self._shares, holds_out=holds_out)
        return Selection(rows, codes.astype(np.intp))

    @property
    def _shares(self) -> Array:
        counts: Array = self.moments.extent.counts / self.n_rows
        return counts


def _tabulate(block: RowBlock, predict: Callable[[Matrix], npt.NDArray[np.intp]], n_classes: int) -> Tables:
    predicted = predict(block.X) if len(block.codes) else np.empty(0, dtype=np.intp)
    return Tables.of(block.codes, predicted, n_classes)
