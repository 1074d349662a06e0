"""Orthonormal projections, and one fixed representative of each subspace."""

from __future__ import annotations

import numpy as np

from melm.rows import Array


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
    positive. `covariance` is that of the features (d, d), or its square root from the left (any matrix A with A^T A =
    covariance).
    """
    Q = np.linalg.qr(V)[0]
    # A second pass takes the orthonormality from the rounding of one QR down to the last bit or two.
    Q = np.linalg.qr(Q)[0]
    rotation = np.linalg.eigh(Q.T @ covariance @ Q)[1][:, ::-1]
    basis = np.linalg.qr(Q @ rotation)[0]
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    oriented: Array = basis * np.where(largest < 0, -1.0, 1.0)
    return oriented
