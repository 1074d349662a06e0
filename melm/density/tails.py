"""Heavy tails: where most rows of a class lie much closer together than its covariance says.

Silverman's rule widens kernels with the covariance, which a few far rows decide. Then the densities smear the bulk, and
the more so the more components there are. So the kernels of all classes are narrowed alike, by the ratio of the spread
of the bulk to that of all rows: the robust form of Silverman's rule. Other rows keep the kernels of the divergence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincinv

from melm.typing import Array

HEAVY = 0.5  # spread of the bulk, as a share of that of all rows, below which the tails are heavy
NARROWEST = 0.05
FEWEST_ROWS = 20  # of a class: with fewer its bulk is chance
STEPS = 2  # towards the middle of the bulk
ROUNDING = 1e-12  # of the largest value of an axis
SINGULAR = 1e-10  # of an eigenvalue of the correlations, which are one on average


def narrowing(rows: Sequence[Array], weights: Sequence[Array]) -> float:
    """By how much the kernels of projected classes, C of (n_c, k) with weights that add up to 1, are to be narrowed."""
    spreads = [_bulk_spread(Z, own) for Z, own in zip(rows, weights, strict=True)]
    mean = float(np.exp(np.log(np.maximum(spreads, NARROWEST)).mean()))
    return mean if mean < HEAVY else 1.0


def _bulk_spread(Z: Array, weights: Array) -> float:
    """Median distance from the middle of the bulk, as a share of what it is for normal rows of this covariance."""
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
