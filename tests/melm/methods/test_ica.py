from __future__ import annotations

import numpy as np

from melm.methods import fit


def test_finds_the_sources_of_a_mixture() -> None:
    generator = np.random.default_rng(0)
    sources = np.column_stack([generator.uniform(-1, 1, 2000), generator.laplace(size=2000)])
    X = sources @ generator.standard_normal((2, 5)) + 3
    Z = fit("ica", X, np.arange(2000) % 2).transform(X)
    agreement = np.abs(np.corrcoef(Z.T, sources.T)[:2, 2:])
    assert np.sort(agreement.max(axis=1)).min() > 0.99
    assert set(agreement.argmax(axis=1)) == {0, 1}
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-6)


def test_an_early_end_is_told_on_the_card_and_not_on_the_screen() -> None:
    X = np.random.default_rng(0).standard_normal((100, 4))  # nothing to find, so nothing to converge to at once
    model = fit("ica", X, np.arange(100) % 2, n_components=4, max_iterations=1)
    assert "Independent component analysis did not converge within max_iterations=1." in model.card.warnings
