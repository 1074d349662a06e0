"""Definitions of methods read plainly, without a look at the library; and ways to compare maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.melm.samples import Array


def covariance(rows: Array) -> Array:
    mean = rows.mean(axis=0)
    return np.array(sum(np.outer(x - mean, x - mean) for x in rows) / len(rows))


def second_moment(rows: Array) -> Array:
    return np.array(sum(np.outer(x, x) for x in rows) / len(rows))


def leading(matrix: Array, k: int) -> Array:
    """Eigenvectors of the k largest eigenvalues of any matrix with real ones, as columns of length one."""
    values, vectors = np.linalg.eig(matrix)
    columns = vectors[:, np.argsort(-values.real)[:k]].real
    return np.array(columns / np.linalg.norm(columns, axis=0))


def by_class(X: Array, y: npt.NDArray[Any]) -> list[Array]:
    return [X[y == label] for label in np.unique(y)]


def assert_same_axes(V: Array, expected: Array, atol: float = 1e-8) -> None:
    """The same columns up to sign and length."""
    V, expected = V / np.linalg.norm(V, axis=0), expected / np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(np.abs((V * expected).sum(axis=0)), 1, atol=atol)


def assert_same_subspace(V: Array, expected: Array, atol: float = 1e-8) -> None:
    Q, R = np.linalg.qr(V)[0], np.linalg.qr(expected)[0]
    np.testing.assert_allclose(Q @ Q.T, R @ R.T, atol=atol)
