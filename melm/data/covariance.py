"""Covariance of a class: empirical, as in the paper, or shrunk by Ledoit and Wolf's rule; optionally with a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks, column_sums
from melm.typing import Array

CovarianceKind: TypeAlias = Literal["ledoit_wolf", "empirical"]


@dataclass(frozen=True)
class ClassMoments:
    """The moments of one class: its size, mean, empirical covariance, and estimate of the covariance."""

    n_rows: float  # the sum of the weights if rows have weights
    mean: Array  # (d,)
    empirical: Array  # (d, d), divided by n_rows
    covariance: Array  # (d, d), the estimate that smooths the class:
    share: float  # this much of the empirical one,
    noise: float  # and this much of the identity


def class_moments(
    rows: npt.NDArray[Any],
    kind: CovarianceKind,
    ridge: float = 0.0,
    weights: Array | None = None,
    n_features: int | None = None,
) -> ClassMoments:
    """Moments of one class in two passes over row blocks, so that no second copy of the rows is made.

    `ridge` times the identity is added to the estimate, as if every feature had additional noise. Weights are the
    counts of rows, in Ledoit and Wolf's rule too. `n_features` is the number of features if the rows are given in
    coordinates of the space that they span.
    """
    n_dimensions = rows.shape[1]
    n_rows = len(rows) if weights is None else float(weights.sum())
    mean = np.zeros(n_dimensions)
    for block in blocks(len(rows), n_dimensions * 8):
        mean += column_sums(rows[block], weights, block)
    mean /= n_rows
    empirical, fourth = np.zeros((n_dimensions, n_dimensions)), 0.0
    for block in blocks(len(rows), n_dimensions * 8):
        centered = rows[block] - mean
        empirical += centered.T @ (centered if weights is None else weights[block, None] * centered)
        fourth += float(column_sums(np.square(np.square(centered).sum(axis=1)), weights, block))
    empirical /= n_rows
    share, noise = 1.0, ridge
    if kind == "ledoit_wolf":
        share, level = shrinkage(empirical, fourth / n_rows, n_rows, n_features or n_dimensions)
        noise += level
    covariance = share * empirical + noise * np.eye(n_dimensions)
    return ClassMoments(n_rows, mean, empirical, covariance, share, noise)


def shrinkage(empirical: Array, mean_fourth_power: float, n_rows: float, n_features: int) -> tuple[float, float]:
    """Ledoit-Wolf's optimal mixture: how much of the empirical covariance, and of the identity.

    `mean_fourth_power` is the mean of |x - mean|^4. Besides the covariance, the rule needs nothing else of the rows;
    scikit-learn's function would square a copy of them. The covariance may be that of coordinates of the space that the
    rows span: its trace is that of all `n_features`, and so is the shrinkage.
    """
    level = np.trace(empirical) / n_features
    squares = float(np.square(empirical).sum())
    distance = squares / n_features - level**2
    noise = (mean_fourth_power - squares) / (n_features * n_rows)
    shrunk = 0.0 if distance <= 0 else float(np.clip(noise / distance, 0, 1))
    return 1 - shrunk, shrunk * float(level)
