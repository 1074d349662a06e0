"""Directions of largest covariance with the classes."""

from __future__ import annotations

import numpy as np

from melm.typing import Array

UNRELATED = 1e-10  # covariance with the classes, relative to the widest feature, that counts as none


def partial_least_squares(X: Array, indicators: Array, n_components: int, weights: Array | None = None) -> Array:
    """Directions W (d, <= k), each after subtracting what the previous ones explain: regression by NIPALS.

    Columns of X (n, d) are centered; indicators (n, C) give the class of each row. There are fewer directions if the
    remainder of the features does not vary with the classes.
    """
    shares = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    indicators = indicators - shares @ indicators
    indicators = indicators / np.sqrt(shares @ np.square(indicators))
    residual = np.array(X, dtype=np.float64)
    directions: list[Array] = []
    loadings: list[Array] = []
    widest = float(np.sqrt((shares @ np.square(residual)).max()))
    for _ in range(n_components):
        left, singular, _ = np.linalg.svd(residual.T @ (shares[:, None] * indicators), full_matrices=False)
        if singular[0] <= UNRELATED * widest:
            break
        scores = residual @ left[:, 0]
        directions.append(left[:, 0])
        weighted = shares * scores
        loadings.append(weighted @ residual / (weighted @ scores))
        residual -= np.outer(scores, loadings[-1])
    if not directions:
        return np.empty((X.shape[1], 0))
    W, P = np.column_stack(directions), np.column_stack(loadings)
    rotated: Array = W @ np.linalg.inv(P.T @ W)
    return rotated
