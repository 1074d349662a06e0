"""The paper's formulas as plain loops: slow, obvious, and written without a look at the library."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.covariance import ledoit_wolf

Array = npt.NDArray[np.float64]


def covariance(rows: Array, kind: str, spread: Array) -> Array:
    """Of one class; `spread` is the standard deviation (ddof 0) of each feature over all classes."""
    if kind == "empirical":
        mean = rows.mean(axis=0)
        return np.array(sum(np.outer(x - mean, x - mean) for x in rows) / len(rows))
    return np.array(ledoit_wolf(rows / spread)[0] * np.outer(spread, spread))


def smoothing(rows: Array, kind: str, spread: Array, k: int, gamma: float) -> Array:
    """h^2 C with Silverman's h."""
    h = gamma * (4 / (k + 2)) ** (1 / (k + 4)) * len(rows) ** (-1 / (k + 4))
    return np.array(h**2 * covariance(rows, kind, spread))


def potential(A: Array, B: Array, H: Array, V: Array) -> tuple[float, Array]:
    """ip_ab = mean of N(V^T (a - b); 0, V^T H V), and its derivative in V, pair by pair in d dimensions."""
    S = V.T @ H @ V
    inverse = np.linalg.inv(S)
    normalization = 1 / np.sqrt((2 * np.pi) ** V.shape[1] * np.linalg.det(S))
    value, gradient = 0.0, np.zeros_like(V)
    for a in A:
        for b in B:
            v = a - b
            w = inverse @ (V.T @ v)
            density = normalization * np.exp(-0.5 * (V.T @ v) @ w)
            value += density
            gradient += density * (-np.outer(v, w) + H @ V @ (np.outer(w, w) - inverse))
    pairs = len(A) * len(B)
    return value / pairs, gradient / pairs


def divergence(
    X: Array, y: npt.NDArray[Any], V: Array, gamma: float = 1.0, kind: str = "empirical"
) -> tuple[float, Array]:
    """-2 log of the mean over pairs of classes of exp(-D_CS / 2), and its derivative in V."""
    classes = [X[y == label] for label in np.unique(y)]
    H = [smoothing(rows, kind, X.std(axis=0), V.shape[1], gamma) for rows in classes]
    own = [potential(rows, rows, 2 * h, V) for rows, h in zip(classes, H, strict=True)]
    total, slope, n_pairs = 0.0, np.zeros_like(V), 0
    for a, b in combinations(range(len(classes)), 2):
        cross, cross_slope = potential(classes[a], classes[b], H[a] + H[b], V)
        d_cs = np.log(own[a][0]) + np.log(own[b][0]) - 2 * np.log(cross)
        d_slope = own[a][1] / own[a][0] + own[b][1] / own[b][0] - 2 * cross_slope / cross
        similarity = np.exp(-d_cs / 2)
        total += similarity
        slope += -similarity / 2 * d_slope
        n_pairs += 1
    return float(-2 * np.log(total / n_pairs)), -2 * slope / total
