"""What a fit computes from rows in blocks before it begins: their moments by class, and a sample to keep in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from melm.data.blocks import allot
from melm.data.covariance import ClassMoments, CovarianceKind, shrinkage
from melm.data.row_blocks import RowBlock, RowBlocks
from melm.typing import Array

SAMPLE_BYTES = 2**26  # of the sample in memory, for races and for choices
MAX_SCATTER = 2**25  # numbers in the covariances of all classes: 256 MiB
MARGIN = 6  # standard deviations by which more rows are drawn than needed, so that there are enough


@dataclass(frozen=True)
class Extent:
    """The number of rows of each class, their sum, and the range of each feature."""

    counts: npt.NDArray[np.int64]  # (C,)
    sums: Array  # (C, d)
    low: Array  # (d,)
    high: Array  # (d,)

    def __add__(self, other: Self) -> Extent:
        return Extent(
            self.counts + other.counts,
            self.sums + other.sums,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


@dataclass(frozen=True)
class Drawn:
    """Randomly drawn rows, in the order of their indices. A row's lot is its random number; low ones are drawn."""

    rows: npt.NDArray[Any]  # (m, d)
    codes: npt.NDArray[np.int32]  # (m,)
    lots: Array  # (m,)
    index: npt.NDArray[np.uint64]  # (m,), among all rows

    def __add__(self, other: Self) -> Drawn:
        return Drawn(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.lots, other.lots]),
            np.concatenate([self.index, other.index]),
        )

    def lowest(self, wanted: npt.NDArray[np.int64]) -> Drawn:
        """The wanted number of rows of each class: those with the lowest lots, in the order of their indices."""
        kept = np.zeros(len(self.codes), dtype=bool)
        for code, n_wanted in enumerate(wanted):
            members = np.flatnonzero(self.codes == code)
            kept[members[np.argsort(self.lots[members], kind="stable")[:n_wanted]]] = True
        return Drawn(self.rows[kept], self.codes[kept], self.lots[kept], self.index[kept])


@dataclass(frozen=True)
class FeatureMoments:
    """Mean and covariance of each class."""

    counts: npt.NDArray[np.int64]  # (C,)
    means: Array  # (C, d)
    covariances: Array  # (C, d, d), divided by the counts

    @property
    def shares(self) -> Array:
        """The shares of the classes among all rows (C,)."""
        shares: Array = self.counts / self.counts.sum()
        return shares

    @property
    def center(self) -> Array:
        """The mean of all rows (d,)."""
        center: Array = self.shares @ self.means
        return center

    @property
    def within(self) -> Array:
        """The within-class covariance, weighted by the shares of the classes (d, d)."""
        within: Array = np.tensordot(self.shares, self.covariances, 1)
        return within

    @property
    def total(self) -> Array:
        """The covariance of all rows (d, d)."""
        apart = self.means - self.center
        total: Array = self.within + (self.shares * apart.T) @ apart
        return total


@dataclass(frozen=True)
class BlockMoments:
    """Moments of the classes of rows in blocks, for standardized features, and a sample of the rows."""

    extent: Extent
    center: Array  # (d,), the mean of all rows
    scale: Array  # (d,), their standard deviation; zero for constant features
    scatter: Array  # (C, r, r), of the standardized features that vary, about the mean of the class
    fourth: Array  # (C,), the mean of |x - mean of the class|^4
    drawn: Drawn

    @classmethod
    def of(cls, blocks: RowBlocks, n_classes: int, seed: int) -> BlockMoments:
        """Compute the moments in three passes over the blocks."""
        if n_classes * blocks.n_features**2 > MAX_SCATTER:
            raise ValueError(
                f"{blocks.n_features} features in {n_classes} classes are too many for rows beyond memory: their "
                f"covariances would hold more than {MAX_SCATTER} numbers."
            )
        extent = blocks.total(_extent, n_classes)
        sizes = extent.counts.astype(np.float64)
        means = extent.sums / np.maximum(sizes, 1)[:, None]
        wanted = np.array(allot(extent.counts.tolist(), max(2 * n_classes, SAMPLE_BYTES // (8 * blocks.n_features))))
        limits = np.minimum(1.0, (wanted + MARGIN * np.sqrt(wanted) + MARGIN) / np.maximum(sizes, 1))
        second = blocks.total(_second, means, limits, seed)
        scatter = second.scatter / np.maximum(sizes, 1)[:, None, None]
        shares = sizes / sizes.sum()
        center = shares @ means
        variance = shares @ (np.diagonal(scatter, axis1=1, axis2=2) + np.square(means - center))
        varying = extent.high > extent.low
        if not varying.any():
            raise ValueError("All features are constant: there is nothing to project.")
        scale = np.where(varying, np.sqrt(variance), 0.0)
        if not np.isfinite(scale).all():
            feature = int(np.flatnonzero(~np.isfinite(scale))[0])
            raise ValueError(f"The values of feature {feature} are too large to compute their variance.")
        factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=varying)
        fourth = blocks.total(_fourth, means, factor) / np.maximum(sizes, 1)
        scaled = (scatter * factor[:, None] * factor)[:, varying][:, :, varying]
        return cls(extent, center, scale, scaled, fourth, second.drawn.lowest(wanted))

    def by_feature(self, *, standardized: bool) -> FeatureMoments:
        """Mean and covariance of each class, in all raw features or in the standardized features that vary."""
        counts, varying = self.extent.counts, self.varying
        means = self.extent.sums / counts[:, None]
        if standardized:
            scaled = (means - self.center)[:, varying] / self.scale[varying]
            return FeatureMoments(counts, scaled, self.scatter)
        covariances = np.zeros((len(counts), *2 * (len(self.scale),)))
        inside = np.ix_(np.arange(len(counts)), np.flatnonzero(varying), np.flatnonzero(varying))
        covariances[inside] = self.scatter * self.scale[varying][:, None] * self.scale[varying]
        return FeatureMoments(counts, means, covariances)

    @property
    def varying(self) -> npt.NDArray[np.bool_]:
        return self.scale > 0

    def by_class(self, kind: CovarianceKind, ridge: float) -> list[ClassMoments]:
        """The moments of each class, in the standardized features that vary."""
        moments = []
        factor = 1 / self.scale[self.varying]
        for count, total, empirical, fourth in zip(
            self.extent.counts.tolist(), self.extent.sums, self.scatter, self.fourth, strict=True
        ):
            mean = (total[self.varying] / count - self.center[self.varying]) * factor
            share, noise = 1.0, ridge
            if kind == "ledoit_wolf":
                share, level = shrinkage(empirical, float(fourth), count, len(empirical))
                noise += level
            covariance = share * empirical + noise * np.eye(len(empirical))
            moments.append(ClassMoments(count, mean, empirical, covariance, share, noise))
        return moments


@dataclass(frozen=True)
class _Second:
    scatter: Array  # (C, d, d)
    drawn: Drawn

    def __add__(self, other: Self) -> _Second:
        return _Second(self.scatter + other.scatter, self.drawn + other.drawn)


def _extent(block: RowBlock, n_classes: int) -> Extent:
    if not np.isfinite(block.X).all():
        row, feature = np.argwhere(~np.isfinite(block.X))[0].tolist()
        raise ValueError(f"Row {int(block.index[row])} holds {block.X[row, feature]} in feature {feature}.")
    sums = np.stack([block.X[block.codes == code].sum(axis=0, dtype=np.float64) for code in range(n_classes)])
    counts = np.bincount(block.codes, minlength=n_classes)
    if len(block.codes) == 0:
        nothing = np.full(block.X.shape[1], np.inf)
        return Extent(counts, sums, nothing, -nothing)
    return Extent(counts, sums, block.X.min(axis=0).astype(np.float64), block.X.max(axis=0).astype(np.float64))


def _second(block: RowBlock, means: Array, limits: Array, seed: int) -> _Second:
    lots = block.uniform(seed)
    chosen = lots < limits[block.codes]
    scatter = np.empty((len(means), *means.shape[1:] * 2))
    for code, mean in enumerate(means):
        centered = block.X[block.codes == code] - mean
        scatter[code] = centered.T @ centered
    return _Second(scatter, Drawn(block.X[chosen], block.codes[chosen], lots[chosen], block.index[chosen]))


def _fourth(block: RowBlock, means: Array, factor: Array) -> Array:
    squares = np.square((block.X - means[block.codes]) * factor).sum(axis=1)
    return np.asarray(np.bincount(block.codes, np.square(squares), len(means)), dtype=np.float64)
