"""Orthonormal projections, and one fixed representative of each subspace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from melm.typing import Array


def orthonormalize(V: Array) -> Array:
    """An orthonormal basis of the column space of V, with the orientation of V kept."""
    Q, R = np.linalg.qr(V)
    signs = np.sign(np.diag(R))
    signs[signs == 0] = 1
    basis: Array = Q * signs
    return basis


def canonical(V: Array, covariance: Array) -> Array:
    """The orthonormal basis of V's column space that every equal subspace shares.

    Axes are the principal axes of the projected data, widest first, and each points where its largest entry is
    positive. `covariance` is that of the features (d, d).
    """
    Q = _qr(V)
    rotation = np.linalg.eigh(Q.T @ covariance @ Q)[1][:, ::-1]
    basis = _qr(Q @ rotation)
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    oriented: Array = basis * np.where(largest < 0, -1.0, 1.0)
    return oriented


def standardized_loadings(V: Array, covariance: Array) -> Array:
    """What a standard deviation of each feature moves along each axis, in standard deviations of the axis (d, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loadings = V * np.sqrt(np.diag(covariance))[:, None] / np.sqrt(np.diag(V.T @ covariance @ V))
    return np.asarray(np.nan_to_num(loadings), np.float64)


def axis_correlations(V: Array, covariance: Array) -> Array:
    """Correlation of each feature with each axis (d, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.outer(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(V.T @ covariance @ V)))
        correlations = covariance @ V / spread
    return np.asarray(np.nan_to_num(correlations), np.float64)


def joint_loadings(V: Array, covariance: Array, sources: Sequence[Sequence[int]]) -> Array:
    """What several features move together along each axis, in standard deviations of the axis (len(sources), k).

    Their contributions are added up row by row, and the spread of the sum is taken: free of sign, and for a single
    feature the size of its loading.
    """
    moved = [np.sqrt(np.diag(V[J].T @ covariance[np.ix_(J, J)] @ V[J])) for J in map(list, sources)]
    with np.errstate(divide="ignore", invalid="ignore"):
        loadings = np.stack(moved) / np.sqrt(np.diag(V.T @ covariance @ V))
    return np.asarray(np.nan_to_num(loadings), np.float64)


def joint_correlations(V: Array, covariance: Array, sources: Sequence[Sequence[int]]) -> Array:
    """Multiple correlation of several features with each axis (len(sources), k); of a single one, its size."""
    shared = covariance @ V  # (d, k)
    explained = [
        np.einsum("jk,ji,ik->k", shared[J], np.linalg.pinv(covariance[np.ix_(J, J)], hermitian=True), shared[J])
        for J in map(list, sources)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.sqrt(np.maximum(np.stack(explained), 0) / np.diag(V.T @ covariance @ V))
    return np.asarray(np.clip(np.nan_to_num(correlations), 0, 1), np.float64)


def _qr(V: Array) -> Array:
    """The orthonormal factor of V, its rows treated from the largest to the smallest.

    That order keeps the relative accuracy of small rows, which belong to features of a large scale and weigh as much.
    """
    order = np.argsort(-np.abs(V).max(axis=1), kind="stable")
    Q = np.empty_like(V)
    Q[order] = np.linalg.qr(V[order])[0]
    return Q
