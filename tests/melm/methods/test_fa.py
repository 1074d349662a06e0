from __future__ import annotations

import numpy as np
from sklearn.decomposition import FactorAnalysis

from melm.methods import fit

generator = np.random.default_rng(0)
FACTORS = generator.standard_normal((2000, 2))
NOISE = np.array([0.1, 0.2, 3.0, 0.1, 0.3, 5.0])
X = FACTORS @ generator.standard_normal((2, 6)) + NOISE * generator.standard_normal((2000, 6)) + 10
y = np.arange(2000) % 2


def test_finds_the_factors_behind_features_of_unequal_noise() -> None:
    Z = fit("fa", X, y).transform(X)
    explained = np.linalg.lstsq(Z, FACTORS, rcond=None)[0]
    assert ((Z @ explained - FACTORS).var(axis=0) < 0.05).all()


def test_equals_the_posterior_mean_of_scikit_learn() -> None:
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = FactorAnalysis(2, svd_method="lapack").fit(standardized).transform(standardized)
    Z = fit("fa", X, y).transform(X)
    signs = np.sign((Z * reference).sum(axis=0))
    np.testing.assert_allclose(Z * signs, reference, atol=1e-8)


def test_the_scale_of_features_does_not_matter() -> None:
    scale = np.array([1e3, 1, 1e-3, 5, 0.2, 7])
    scaled = X * scale
    Z, Z_scaled = fit("fa", X, y).transform(X), fit("fa", scaled, y).transform(scaled)
    np.testing.assert_allclose(np.abs(Z), np.abs(Z_scaled), atol=1e-7)
