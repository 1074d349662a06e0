"""Start projections, in whitened coordinates: a few informed ones first, then random ones, each from its own seed.

All are drawn in the coordinates of `melm.data.whitening`, so that a fit is invariant to affine maps of the features.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from melm.data.projection import orthonormalize
from melm.data.whitening import Whitening
from melm.typing import Array


def start_projection(whitening: Whitening, n_components: int, seed: int, index: int) -> Array:
    """Orthonormal V0 (r, k) of one start: depends on its own index only, never on how many there are."""
    informed = len(whitening.means) + 1
    if index == 0:
        return _by_means(whitening, n_components)
    if index < informed:
        return _by_spread(whitening.covariances[index - 1], n_components)
    generator = np.random.default_rng([seed, index])
    return orthonormalize(generator.standard_normal((whitening.means.shape[1], n_components)))


def _by_means(whitening: Whitening, n_components: int) -> Array:
    """Discriminant directions (where the class means differ), completed by those in which the class spreads differ."""
    means = whitening.means
    contrast = np.square(whitening.covariances - np.eye(means.shape[1])).sum(axis=0)
    directions = np.linalg.svd(means - means.mean(axis=0))[2][: len(means) - 1].T  # (r, <= C - 1)
    remaining = np.eye(means.shape[1]) - directions @ directions.T
    others = _leading(remaining @ contrast @ remaining, n_components)
    return orthonormalize(np.hstack([directions, others])[:, :n_components])


def _by_spread(covariance: Array, n_components: int) -> Array:
    """Principal components of one class: directions in which it is wide and, by the whitening, the others narrow."""
    return _leading(covariance, n_components)


def _leading(matrix: Array, n_components: int) -> Array:
    """Eigenvectors of a symmetric matrix with the largest eigenvalues, largest first; the others are not computed."""
    size = len(matrix)
    vectors: Array = eigh(matrix, subset_by_index=(max(0, size - n_components), size - 1))[1][:, ::-1]
    return vectors
