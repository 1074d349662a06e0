from __future__ import annotations

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes
from tests.melm.samples import blobs, mixture


@pytest.mark.parametrize("sizes", [[40, 30], [40, 30, 20]])
def test_equals_scikit_learn(sizes: list[int]) -> None:
    X, y = mixture(sizes, 6)
    indicators = np.eye(len(sizes))[y]
    reference = PLSRegression(3, tol=1e-14, max_iter=10_000).fit(X, indicators)
    rotations = reference.x_rotations_ / X.std(axis=0, ddof=1)[:, None]
    assert_same_axes(fit("pls", X, y, n_components=3).projection, rotations)


def test_finds_the_axis_that_separates() -> None:
    X, y = blobs(6.0, n_rows=1000, n_features=5)
    model = fit("pls", X * [1.0, 100, 1, 1, 1], y)
    assert abs(np.corrcoef(model.transform(X * [1.0, 100, 1, 1, 1])[:, 0], X[:, 0])[0, 1]) > 0.99


def test_scores_are_uncorrelated() -> None:
    X, y = mixture([40, 30, 20], 6)
    correlations = np.corrcoef(fit("pls", X, y, n_components=4).transform(X).T)
    np.testing.assert_allclose(correlations, np.eye(4), atol=1e-9)


def test_features_that_do_not_vary_with_the_classes_are_refused_in_words() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 3)), 2, axis=0)
    with pytest.raises(ValueError, match="finds only 0 components, got n_components=2"):
        fit("pls", X, np.tile([0, 1], 20))
