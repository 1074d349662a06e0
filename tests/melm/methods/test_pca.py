from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes
from tests.melm.samples import mixture

X, y = mixture([40, 30], 6)


def test_equals_scikit_learn() -> None:
    model = fit("pca", X, y, n_components=3, standardize=False)
    reference = PCA(3).fit(X)
    assert_same_axes(model.projection, reference.components_.T)
    np.testing.assert_allclose(model.offset, reference.mean_)


def test_finds_the_stretched_axes_widest_first() -> None:
    stretched = np.random.default_rng(0).standard_normal((500, 5)) * [1, 10, 1, 30, 1]
    V = fit("pca", stretched, np.arange(500) % 2, standardize=False).projection
    np.testing.assert_allclose(V, np.eye(5)[:, [3, 1]], atol=0.03)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_turns_with_the_data(seed: int) -> None:
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
    assert_same_axes(
        fit("pca", X @ rotation, y, standardize=False).projection,
        rotation.T @ fit("pca", X, y, standardize=False).projection,
    )


def test_labels_are_not_used() -> None:
    other = np.random.default_rng(0).permutation(y)
    assert (
        fit("pca", X, y, standardize=False).projection.tobytes()
        == fit("pca", X, other, standardize=False).projection.tobytes()
    )
