"""Labeled data for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labeled = tuple[Array, npt.NDArray[Any]]


def mixture(sizes: list[int], n_features: int, seed: int = 0) -> Labeled:
    """Overlapping classes of different means and spreads, rows shuffled."""
    generator = np.random.default_rng(seed)
    blocks, labels = [], []
    for code, size in enumerate(sizes):
        mixing = np.eye(n_features) + 0.3 * generator.standard_normal((n_features, n_features))
        blocks.append(
            generator.standard_normal((size, n_features)) @ mixing + 0.8 * generator.standard_normal(n_features)
        )
        labels.append(np.full(size, code))
    order = generator.permutation(sum(sizes))
    return np.concatenate(blocks)[order], np.concatenate(labels)[order]


def blobs(distance: float, n_rows: int = 300, n_features: int = 3, n_classes: int = 2) -> Labeled:
    """Unit Gaussians in a row along the first axis."""
    generator = np.random.default_rng(1)
    y = np.arange(n_rows) % n_classes
    X = generator.standard_normal((n_rows, n_features))
    X[:, 0] += distance * y
    return X, y


def projection(n_features: int, k: int, seed: int = 0) -> Array:
    """Independent columns, neither orthogonal nor of unit length."""
    return np.random.default_rng([7, seed]).standard_normal((n_features, k))
