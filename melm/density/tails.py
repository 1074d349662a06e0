"""Heavy tails: most rows of a class lie much closer together than its covariance suggests.

Silverman's rule scales kernels with the covariance, which a few far rows can dominate. The densities then smear the
bulk, the more so the more components there are. So the kernels of all classes are narrowed by a common factor, the
ratio of the spread of the bulk to that of all rows, as in the robust form of Silverman's rule. Without heavy tails, the
kernels are those of the divergence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincinv

from melm.typing import Array

HEAVY = 0.5  # spread of the bulk, as a share of that of all rows, below which the tails are heavy
NARROWEST = 0.05
FEWEST_ROWS = 20  # of a class: with fewer, its bulk is not reliable
STEPS = 2  # of the iteration towards the center of the bulk
ROUNDING = 1e-12  # of the largest value of an axis
SINGULAR = 1e-10  # of an eigenvalue of the correlations, which are one on average


def narrowing(rows: Sequence[Array], weights: Sequence[Array]) -> float:
    """The factor by which to narrow the kernels of projected classes, C of (n_c, k) with weights that add up to 1."""
    spreads = [_bulk_spread(Z, own) for Z, own in zip(rows, weights, strict=True)]
    mean = float(np.exp(np.log(np.maximum(spreads, NARROWEST)).mean()))
    return mean if mean < HEAVY else 1.0


def _bulk_spread(Z: Array, weights: Array) -> float:
    """Median distance from the center of the bulk, relative to that of a normal distribution with this covariance."""
    if len(Z) < FEWEST_ROWS:
        return 1.0
    D = Z - weights @ Z
    scale = np.sqrt(weights @ np.square(D))
    varying = scale > ROUNDING * np.abs(Z).max(axis=0)
    D = D[:, varying] / scale[varying]
    values, vectors = np.linalg.eigh(D.T @ (weights[:, None] * D))
    values, vectors = values[values > SINGULAR], vectors[:, values > SINGULAR]
    if not len(values):
        return 1.0
    white, middle = D @ vectors / np.sqrt(values), np.zeros(len(values))
    for _ in range(STEPS):
        distances, median = _median_distance(white - middle, weights)
        bulk = weights * (distances <= median)
        middle = bulk @ white / bulk.sum()
    _, median = _median_distance(white - middle, weights)
    return float(np.sqrt(median / (2 * gammaincinv(len(values) / 2, 0.5))))


def _median_distance(D: Array, weights: Array) -> tuple[Array, float]:
    """Squared lengths (n,), and their weighted median."""
    squares: Array = np.square(D).sum(axis=1)
    order = np.argsort(squares, kind="stable")
    middle = int(np.searchsorted(np.cumsum(weights[order]), 0.5 * (1 - 1e-12)))
    return squares, float(squares[order[middle]])
