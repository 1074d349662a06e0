"""Orthonormal projections, and a canonical basis of each subspace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from melm.typing import Array


def orthonormalize(V: Array) -> Array:
    """An orthonormal basis of the column space of V, with the orientation of V kept."""
    Q, R = np.linalg.qr(V)
    signs = np.sign(np.diag(R))
    signs[signs == 0] = 1
    basis: Array = Q * signs
    return basis


def canonical(V: Array, spread: Callable[[Array], Array]) -> Array:
    """The canonical orthonormal basis of the column space of V: equal subspaces have equal bases.

    Axes are the principal axes of the projected data, widest first, and each points where its largest entry is
    positive. `spread` gives the covariance (k, k) of the rows in a projection.
    """
    Q = _qr(V)
    rotation = np.linalg.eigh(spread(Q))[1][:, ::-1]
    basis = _qr(Q @ rotation)
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    oriented: Array = basis * np.where(largest < 0, -1.0, 1.0)
    return oriented


def _qr(V: Array) -> Array:
    """The orthonormal factor of V, with its rows sorted from the largest to the smallest.

    This order keeps the relative accuracy of small rows, which belong to features of a large scale and matter as much.
    """
    order = np.argsort(-np.abs(V).max(axis=1), kind="stable")
    Q = np.empty_like(V)
    Q[order] = np.linalg.qr(V[order])[0]
    return Q
