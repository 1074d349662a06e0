"""Axes of a linear map: which directions are widest, and which way they point."""

from __future__ import annotations

import numpy as np

from melm.rows import Array


def principal_axes(covariance: Array, n_components: int) -> Array:
    """The directions of largest variance (d, k), widest first: an orthonormal basis."""
    axes: Array = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components]
    return orient(axes)


def orient(V: Array) -> Array:
    """V with each column pointing where its largest entry is positive: for maps that leave signs free."""
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    oriented: Array = V * np.where(largest < 0, -1.0, 1.0)
    return oriented


def align(V: Array, covariance: Array) -> Array:
    """V turned onto the principal axes of the rows that it projects: for maps that leave a rotation free."""
    rotation = np.linalg.eigh(V.T @ covariance @ V)[1][:, ::-1]
    return orient(V @ rotation)
