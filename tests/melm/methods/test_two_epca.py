from __future__ import annotations

import numpy as np

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes, by_class, covariance, leading
from tests.melm.samples import mixture


def test_equals_its_definition() -> None:
    X, y = mixture([50, 20, 30], 6)
    total = sum(covariance(rows) for rows in by_class(X, y))
    assert_same_axes(fit("2epca", X, y, n_components=3, standardize=False).projection, leading(np.array(total), 3))


def test_a_small_class_counts_as_much_as_a_large_one() -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((600, 3))
    y = np.arange(600) % 6 // 5  # five rows of class 0 for each of class 1
    X[y == 0] *= [1, 4, 1]
    X[y == 1] *= [1, 1, 6]
    V = fit("2epca", X, y, standardize=False).projection
    np.testing.assert_allclose(V, np.eye(3)[:, [2, 1]], atol=0.05)


def test_equals_class_pca_when_classes_are_of_one_size() -> None:
    X, y = mixture([30, 30], 5)
    assert_same_axes(fit("2epca", X, y, standardize=False).projection, fit("cpca", X, y, standardize=False).projection)
