from __future__ import annotations

import numpy as np

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes, by_class, covariance, leading
from tests.melm.samples import mixture


def test_equals_its_definition() -> None:
    X, y = mixture([50, 20, 30], 6)
    total = sum(len(rows) * covariance(rows) for rows in by_class(X, y))
    assert_same_axes(fit("cpca", X, y, n_components=3, standardize=False).projection, leading(np.array(total), 3))


def test_the_distance_of_the_classes_does_not_count_but_their_sizes_do() -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((600, 3))
    y = np.arange(600) % 6 // 5  # five rows of class 0 for each of class 1
    X[y == 0] *= [1, 4, 1]
    X[y == 1] *= [1, 1, 6]
    X[:, 0] += 100 * y
    V = fit("cpca", X, y, standardize=False).projection
    np.testing.assert_allclose(V, np.eye(3)[:, [1, 2]], atol=0.05)
