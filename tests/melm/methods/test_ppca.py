from __future__ import annotations

import numpy as np
import pytest

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes, by_class, covariance, leading
from tests.melm.samples import Array, mixture

X, y = mixture([40, 30, 50], 6)


def components(rank: int) -> list[Array]:
    """That component of each class, the widest first."""
    axes = [(rows, leading(covariance(rows), rank + 1)[:, rank]) for rows in by_class(X, y)]
    return [axis for rows, axis in sorted(axes, key=lambda pair: -np.var(pair[0] @ pair[1]))]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equals_its_definition(k: int) -> None:
    expected = [*components(0), *components(1)][:k]
    V = fit("ppca", X, y, n_components=k, standardize=False).projection
    assert_same_axes(V, np.column_stack(expected))
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)


def test_each_class_gives_its_own_long_axis_however_wide_the_others_of_another_are() -> None:
    stretched = np.random.default_rng(0).standard_normal((1000, 4))
    labels = np.arange(1000) % 2
    stretched[labels == 0] *= [1, 8, 1, 1]
    stretched[labels == 1] *= [1, 1, 10, 40]
    np.testing.assert_allclose(
        fit("ppca", stretched, labels, standardize=False).projection, np.eye(4)[:, [3, 1]], atol=0.1
    )


def test_classes_with_one_long_axis_in_common_are_fitted_all_the_same() -> None:
    twice, labels = np.repeat(X, 2, axis=0), np.tile(["a", "b"], len(X))
    model = fit("ppca", twice, labels, standardize=False)
    assert np.linalg.matrix_rank(model.projection) == 1
    assert np.isfinite(model.predict_proba(twice)).all()


def test_axes_that_all_but_agree_have_no_density_to_tell_of() -> None:
    """A record number among the features: the long axis of either class, in all but the seventh digit."""
    numbered = X.copy()
    numbered[:, 0] = np.random.default_rng(0).permutation(len(X)) * 1e4
    model = fit("ppca", numbered, np.arange(len(X)) % 2, standardize=False)
    assert model.card.in_sample is None
    assert np.isfinite(model.predict_proba(numbered)).all()
