"""Axes of a linear map: principal axes and the orientation of axes."""

from __future__ import annotations

import numpy as np

from melm.data.blocks import blocks
from melm.typing import Array


def covariance(X: Array) -> Array:
    """The covariance of the rows, divided by their number; in row blocks, so that no centered copy is made."""
    n_rows, n_features = X.shape
    mean, total = X.mean(axis=0), np.zeros((n_features, n_features))
    for block in blocks(n_rows, n_features * 8):
        centered = X[block] - mean
        total += centered.T @ centered
    averaged: Array = total / n_rows
    return averaged


def principal_axes(spread: Array, n_components: int) -> Array:
    """The directions of largest variance (d, k) by a covariance (d, d), widest first: an orthonormal basis."""
    axes: Array = np.linalg.eigh(spread)[1][:, ::-1][:, :n_components]
    return orient(axes)


def orient(V: Array) -> Array:
    """V with the sign of each column set so that its largest entry is positive: for maps whose signs are arbitrary."""
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    oriented: Array = V * np.where(largest < 0, -1.0, 1.0)
    return oriented


def align(V: Array, spread: Array) -> Array:
    """V rotated to the principal axes of rows with this covariance: for maps that are unique up to a rotation."""
    rotation = np.linalg.eigh(V.T @ spread @ V)[1][:, ::-1]
    return orient(V @ rotation)
