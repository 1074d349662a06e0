"""Labeled rows beyond memory, for a fit: a sample of them, and the blocks of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from melm.data.block_moments import BlockMoments
from melm.data.blocks import allot
from melm.data.covariance import CovarianceKind
from melm.data.labeled import Labeled
from melm.data.problem import Problem
from melm.data.row_blocks import RowBlocks
from melm.plan import Resamples

SAMPLE_ROWS = 40_000  # on which folds are made and choices judged


@dataclass
class LabeledBlocks(Labeled):
    """The rows X and codes are a sample. The problem of all rows is that of the blocks; resamples are of the sample."""

    blocks: RowBlocks = field(kw_only=True)
    moments: BlockMoments = field(kw_only=True)

    @classmethod
    def of(cls, blocks: RowBlocks, classes: npt.NDArray[Any], feature_names: list[str] | None, seed: int) -> Self:
        """Reads all blocks, three times."""
        moments = BlockMoments.of(blocks, len(classes), seed)
        counts = moments.extent.counts.tolist()
        if min(counts) < 2:
            label = classes.tolist()[counts.index(min(counts))]
            raise ValueError(f"Every class needs at least 2 rows, class {label!r} has {min(counts)}.")
        sampled = moments.drawn.lowest(np.array(allot(counts, SAMPLE_ROWS)))
        return cls(sampled.rows, sampled.codes.astype(np.intp), classes, feature_names, blocks=blocks, moments=moments)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all blocks."""
        return int(self.moments.extent.counts.sum())

    def _prepare(self, covariance: CovarianceKind, resamples: Resamples, ridge: float, n_kept: int | None) -> Problem:
        if resamples or n_kept is not None:
            return super()._prepare(covariance, resamples, ridge, n_kept)
        return Problem.of_blocks(self.blocks, self.moments, covariance, ridge)
