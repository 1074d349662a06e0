"""What all starts and all kernel widths of a fit share: the standardized rows and the whitened coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from melm.data.block_moments import BlockMoments
from melm.data.covariance import ClassMoments, CovarianceKind, class_moments
from melm.data.projection import canonical
from melm.data.row_blocks import RowBlocks
from melm.data.rows import StandardizedRows
from melm.data.spread import Spread
from melm.data.whitening import FLOOR, Whitening, lift, whiten
from melm.typing import Array, Matrix

MOST_ROUNDED = 1e3  # norm of a projection of standardized features up to which float32 is accurate to five digits


@dataclass(frozen=True)
class Reduction:
    """The reduction of many rows with many features to some directions, and the shares of variance that it keeps."""

    n_directions: int
    within: float  # share of the variance inside the classes
    between: float  # share of the variance between their means

    @classmethod
    def of(
        cls, rows: StandardizedRows, moments: Sequence[ClassMoments], codes: npt.NDArray[np.intp], total: Array
    ) -> Reduction | None:
        """The reduction; None if nothing was lost. All variances are those of standardized features."""
        if rows.space is None or rows.space.is_whole:
            return None
        shares, between = np.array(rows.sizes) / sum(rows.sizes), 0.0
        for code, (share, row_shares) in enumerate(zip(shares, rows.shares, strict=True)):
            own = np.zeros((len(codes), 1))
            own[codes == code, 0] = row_shares
            between += share * float(np.square(rows.space.matrix.pull_back(own)).sum())
        kept = float(sum(share * (m.mean @ m.mean) for share, m in zip(shares, moments, strict=True)))
        within = (float(np.trace(total)) - kept) / max(rows.n_varying - between, np.finfo(float).tiny)
        return cls(len(total), min(within, 1.0), min(kept / between, 1.0) if between > 0 else 1.0)


@dataclass(frozen=True)
class Everything:
    """All rows, if only a sample of them is in memory."""

    blocks: RowBlocks
    counts: list[int]  # rows of each class


@dataclass(frozen=True)
class PreparedRows:
    """A labeled dataset, prepared for the evaluation of projections."""

    rows: StandardizedRows
    whitening: Whitening
    spread: Spread  # of all rows together
    reduction: Reduction | None = None  # if not all directions were kept
    everything: Everything | None = None  # if `rows` are a sample

    @classmethod
    def prepare(
        cls,
        X: Matrix,
        codes: npt.NDArray[np.intp],
        n_classes: int,
        kind: CovarianceKind,
        ridge: float = 0.0,
        chosen: npt.NDArray[np.intp] | None = None,
        weights: Array | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> PreparedRows:
        """Prepare rows of X, or the chosen ones, with class codes 0..n_classes-1 and the covariance of this kind.

        `weights` are the counts of the rows of X, above zero: leave out rows that do not count. Features that are not
        `kept` (d,) are left out, and have zeros in every projection.
        """
        rows = StandardizedRows.standardize(X, codes, n_classes, chosen, weights, kept)
        moments = [
            class_moments(block, kind, ridge, None if rows.weights is None else rows.weights[code], rows.n_varying)
            for code, block in enumerate(rows.by_class)
        ]
        shares = np.array(rows.sizes) / sum(rows.sizes)
        total = sum(s * (m.empirical + np.outer(m.mean, m.mean)) for s, m in zip(shares, moments, strict=True))
        total = np.asarray(total)
        return cls(rows, whiten(moments), Spread(rows, total), Reduction.of(rows, moments, codes, total))

    @classmethod
    def of_blocks(
        cls, blocks: RowBlocks, moments: BlockMoments, kind: CovarianceKind, ridge: float = 0.0
    ) -> PreparedRows:
        """Prepare rows beyond memory: whitening and spread are those of all rows."""
        by_class = moments.by_class(kind, ridge)
        drawn, varying = moments.drawn, moments.varying
        sampled = []
        for code in range(len(by_class)):
            own = drawn.rows[drawn.codes == code][:, varying]
            own = (own - moments.center[varying]) / moments.scale[varying]
            sampled.append(own.astype(drawn.rows.dtype, copy=False))
        rows = StandardizedRows(
            np.concatenate(sampled), list(map(len, sampled)), moments.center, moments.scale, varying
        )
        counts = moments.extent.counts.tolist()
        shares = np.array(counts) / sum(counts)
        total = sum(s * (m.empirical + np.outer(m.mean, m.mean)) for s, m in zip(shares, by_class, strict=True))
        whitening = replace(whiten(by_class), mixture=None)  # the covariances are those of all rows
        return cls(rows, whitening, Spread(rows, np.asarray(total)), everything=Everything(blocks, counts))

    @property
    def in_memory(self) -> PreparedRows:
        """The prepared rows that are in memory: itself if all are."""
        return self if self.everything is None else replace(self, everything=None)

    @property
    def counts(self) -> list[int]:
        """Rows of each class."""
        return self.rows.counts if self.everything is None else self.everything.counts

    @property
    def sizes(self) -> list[float]:
        """The sum of the weights of each class: its number of rows if each counts once."""
        return self.rows.sizes if self.everything is None else [float(count) for count in self.everything.counts]

    @property
    def nbytes(self) -> int:
        """Memory in use, without the given rows."""
        own = [self.rows.together, self.spread.total, self.whitening.to_features, self.whitening.covariances]
        return 2 * sum(array.nbytes for array in own)  # both ways of the whitening, and rows behind a basis

    def reweighted(self, weights: Sequence[Array], kind: CovarianceKind, ridge: float = 0.0) -> PreparedRows:
        """The same rows in the same coordinates with other weights. Rows of weight zero are held out.

        `weights` are in the order of `rows.by_class`, and each class keeps a row. For a given projection, the
        divergence is that of newly prepared rows without those of weight zero, except for a class without spread, which
        is floored in these coordinates. `spread` stays that of all rows. In a row space, so do the scales of the
        features, because dividing by other scales would lead out of it.
        """
        everything, counts = self.rows.together.astype(np.float64, copy=False), np.concatenate(weights)
        center = counts @ everything / counts.sum()
        spread, varying = np.ones(len(center)), np.ones(len(center), dtype=bool)
        if self.rows.space is None:
            spread = np.sqrt(counts @ np.square(everything - center) / counts.sum())
            varying = np.ptp(everything[counts > 0], axis=0) > 0
        n_features = None if self.rows.space is None else self.rows.n_varying
        scaled = self.whitening.to_features[varying] * spread[varying, None]  # shrinkage and ridge use this spread
        moments = [
            class_moments((block[:, varying] - center[varying]) / spread[varying], kind, ridge, own, n_features)
            for block, own in zip(self.rows.by_class, weights, strict=True)
        ]
        lifted = [lift(scaled.T @ m.covariance @ scaled, FLOOR) for m in moments]
        whitening = replace(
            self.whitening,
            covariances=np.stack([covariance for covariance, _ in lifted]),
            means=np.stack([m.mean for m in moments]) @ scaled,
            floored=tuple(low for _, low in lifted),
            mixture=None,
        )
        return replace(self, rows=replace(self.rows, weights=list(weights)), whitening=whitening)

    def rounded(self) -> PreparedRows:
        """The same in float32, which is faster; itself if small differences of features matter too much for that."""
        to_features = self.whitening.to_features
        largest = np.sqrt(np.abs(to_features).sum(axis=0).max() * np.abs(to_features).sum(axis=1).max())
        if self.everything is not None or largest > MOST_ROUNDED:
            return self
        whitening = replace(self.whitening, to_features=to_features.astype(np.float32))
        return replace(self, rows=self.rows.rounded(), whitening=whitening)

    @property
    def n_dimensions(self) -> int:
        """Dimensions in which the rows vary at all: no projection can have more components."""
        return int(self.whitening.to_features.shape[1])

    def to_features(self, V_white: Array) -> Array:
        """A projection of whitened coordinates as one of the features (d, k); not orthonormal."""
        return self.rows.to_features(self.whitening.to_features @ V_white)

    def to_whitened(self, V: Array) -> Array:
        """A projection of the features as one of whitened coordinates (r, k)."""
        return self.whitening.from_features @ self.rows.from_features(V)

    def separations(self) -> Array:
        """For each feature, the share of its variance that lies between the class means (d,)."""
        means = [share @ block for share, block in zip(self.rows.shares, self.rows.by_class, strict=True)]
        sizes = np.array(self.rows.sizes) / sum(self.rows.sizes)
        shares: Array = np.square(self.rows.embed(np.stack(means).T)) @ sizes
        return shares

    def canonical(self, V_white: Array) -> Array:
        """The canonical orthonormal projection of the features for the subspace of V_white."""
        return canonical(self.to_features(V_white), self.spread.of)
