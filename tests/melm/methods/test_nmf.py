from __future__ import annotations

import numpy as np

from melm.methods import fit

generator = np.random.default_rng(0)
PARTS = np.array([[1.0, 2, 0, 0, 1], [0, 0, 3, 1, 1]])
WEIGHTS = generator.exponential(size=(300, 2)) * (generator.random((300, 2)) < 0.7)
X = WEIGHTS @ PARTS
y = np.arange(300) % 2


def test_finds_the_weights_of_the_parts() -> None:
    Z = fit("nmf", X, y).transform(X)
    agreement = np.corrcoef(Z.T, WEIGHTS.T)[:2, 2:]
    assert set(agreement.argmax(axis=1)) == {0, 1}
    assert agreement.max(axis=1).min() > 0.999
    assert Z.min() > -0.05


def test_a_shift_of_the_features_changes_nothing() -> None:
    shift = np.array([5.0, -3, 100, 0, -7])
    Z, Z_shifted = fit("nmf", X, y).transform(X), fit("nmf", X + shift, y).transform(X + shift)
    np.testing.assert_allclose(Z, Z_shifted, atol=1e-6)


def test_the_scale_of_the_features_changes_nothing() -> None:
    scale = np.array([5.0, 3, 100, 1, 0.7])
    np.testing.assert_allclose(fit("nmf", X * scale, y).transform(X * scale), fit("nmf", X, y).transform(X), atol=1e-6)


def test_coordinates_are_those_of_least_squares() -> None:
    model = fit("nmf", X, y)
    spread = X.std(axis=0)
    parts = np.linalg.pinv(model.projection * spread[:, None])  # (k, d)
    assert (parts > -1e-12).all()
    np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1)
    expected = np.linalg.lstsq(parts.T, ((X - X.min(axis=0)) / spread).T, rcond=None)[0].T
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)
