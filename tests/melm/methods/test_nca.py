from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from melm.methods import fit, nca
from tests.melm.samples import blobs, mixture


def test_finds_the_informative_feature_among_louder_ones() -> None:
    X, y = blobs(6.0, n_rows=200, n_features=5)
    X *= [1.0, 50, 50, 50, 50]
    model = fit("nca", X, y, n_components=1)
    assert abs(np.corrcoef(model.transform(X)[:, 0], X[:, 0])[0, 1]) > 0.95


def test_neighbors_agree_more_than_before() -> None:
    X, y = mixture([60, 60, 60], 6)
    nearest = KNeighborsClassifier(3)
    before = cross_val_score(nearest, fit("pca", X, y).transform(X), y).mean()
    assert cross_val_score(nearest, fit("nca", X, y).transform(X), y).mean() > before + 0.05


def test_the_scale_of_features_does_not_matter_and_axes_are_principal() -> None:
    X, y = mixture([40, 40], 4)
    scaled = X * [1e4, 1, 1e-4, 3]
    Z, Z_scaled = fit("nca", X, y).transform(X), fit("nca", scaled, y).transform(scaled)
    np.testing.assert_allclose(np.abs(Z), np.abs(Z_scaled), atol=1e-3 * np.abs(Z).max())
    covariance = np.cov(Z.T)
    assert abs(covariance[0, 1]) < 1e-8 * covariance[0, 0]
    assert covariance[0, 0] >= covariance[1, 1]


def test_too_many_rows_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nca, "MAX_ROWS", 50)
    with pytest.raises(ValueError, match="at most 50 rows, got 80"):
        fit("nca", *mixture([40, 40], 4))


def test_an_early_end_is_told_on_the_card() -> None:
    model = fit("nca", *mixture([40, 40], 4), max_iterations=2)
    assert "Neighborhood components analysis did not converge within max_iterations=2." in model.card.warnings
