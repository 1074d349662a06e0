from __future__ import annotations

import numpy as np

from melm.data.projection import canonical, orthonormalize
from melm.typing import Array
from tests.melm.samples import mixture, projection


def test_orthonormalize_keeps_the_subspace() -> None:
    V = projection(6, 3)
    Q = orthonormalize(V)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-13)


def test_canonical_is_one_for_each_subspace() -> None:
    covariance = np.cov(mixture([100, 50], 6)[0].T)
    V = projection(6, 3)

    def spread(Q: Array) -> Array:
        return np.asarray(Q.T @ covariance @ Q)

    first, second = canonical(V, spread), canonical(V @ projection(3, 3, seed=1), spread)
    np.testing.assert_allclose(first, second, atol=1e-12)
    np.testing.assert_allclose(first.T @ first, np.eye(3), atol=1e-14)
    spreads = np.diag(first.T @ covariance @ first)
    assert (np.diff(spreads) < 0).all()
    assert (first[np.abs(first).argmax(axis=0), range(3)] > 0).all()
