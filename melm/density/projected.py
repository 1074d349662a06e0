"""The densities of projected classes, with the kernels of the divergence, or narrower ones for heavy tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from melm.data.prepared_rows import PreparedRows
from melm.data.whitening import lift
from melm.density import ClassDensities
from melm.density.compaction import merge_blocks
from melm.density.tails import narrowing
from melm.objective.bandwidth import silverman
from melm.typing import Array

Priors: TypeAlias = Literal["balanced", "empirical"] | Sequence[float]

MERGED_COMPONENTS = 2  # with more, rows hardly share cells
SMOOTHING_FLOOR = 1e-10  # of the smallest eigenvalue of a class's correlations in the projection


def class_densities(
    prepared: PreparedRows, projection: Array, gamma: float, priors: Priors, offset: Array | None = None
) -> ClassDensities:
    """The densities of the projected classes, with the kernel that the divergence uses: h_c^2 V^T C_c V.

    If the classes have heavy tails, all kernels are narrowed by a common factor.
    """
    n_components = projection.shape[1]
    V = prepared.to_whitened(projection)
    projected = prepared.rows.project(prepared.rows.from_features(projection))
    narrowed = narrowing(projected, prepared.rows.shares)
    smoothing = []
    for size, covariance in zip(prepared.sizes, prepared.whitening.covariances, strict=True):
        S = silverman(size, n_components, gamma * narrowed) ** 2 * V.T @ covariance @ V
        scale = np.sqrt(np.diag(S))
        scale[scale == 0] = 1.0
        smoothing.append(lift(S / np.outer(scale, scale), SMOOTHING_FLOOR)[0] * np.outer(scale, scale))
    rows, weights = _placed(prepared, projected, projection, np.stack(smoothing), offset)
    return ClassDensities(rows, np.stack(smoothing), class_priors(priors, prepared.sizes), weights, narrowed)


def _placed(
    prepared: PreparedRows, projected: list[Array], projection: Array, S: Array, offset: Array | None
) -> tuple[list[Array], list[Array] | None]:
    """The projected rows of each class, and their weights. For rows beyond memory, means of small cells.

    In three dimensions there would be too many cells, so the rows of the sample are used.
    """
    if prepared.everything is not None and projection.shape[1] <= MERGED_COMPONENTS:
        center = prepared.rows.center if offset is None else offset
        merged = merge_blocks(prepared.everything.blocks, projection, center, S)
        return [rows for rows, _ in merged], [weights for _, weights in merged]
    if offset is not None:
        for Z in projected:
            Z += (prepared.rows.center - offset) @ projection
    return projected, None if prepared.rows.weights is None else prepared.rows.shares


def class_priors(priors: Priors, sizes: Sequence[float]) -> Array:
    """P(c) of each class."""
    n_classes = len(sizes)
    if isinstance(priors, str):
        return np.full(n_classes, 1 / n_classes) if priors == "balanced" else np.array(sizes) / sum(sizes)
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (n_classes,) or not np.isfinite(given).all() or given.min() < 0 or abs(given.sum() - 1) > 1e-6:
        raise ValueError(f"priors={list(priors)} must be {n_classes} numbers from 0 to 1 that add up to 1.")
    normalized: Array = given / given.sum()
    return normalized
