from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from melm.methods import fit
from tests.melm.methods.definitions import assert_same_axes, by_class, second_moment
from tests.melm.samples import mixture


@pytest.mark.parametrize("ridge", [1e-3, 0.05, 2.0])
@pytest.mark.parametrize("sizes", [[40, 30], [40, 30, 20]])
def test_equals_its_definition(sizes: list[int], ridge: float) -> None:
    X, y = mixture(sizes, 5)
    moments = [second_moment(rows) for rows in by_class(X, y)]
    found = []
    for a, b in permutations(range(len(moments)), 2):
        denominator = moments[b] + ridge / 5 * np.trace(moments[b]) * np.eye(5)
        values, vectors = np.linalg.eig(np.linalg.inv(denominator) @ moments[a])
        found += [(value.real, vector.real) for value, vector in zip(values, vectors.T, strict=True)]
    found.sort(key=lambda pair: -pair[0])
    model = fit("gem", X, y, n_components=4, ridge=ridge, standardize=False)
    assert_same_axes(model.projection, np.column_stack([vector for _, vector in found[:4]]), atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(model.projection, axis=0), 1)
    assert not model.offset.any()


def test_finds_where_one_class_is_large_and_the_other_small() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 4))
    y = np.arange(1000) % 2
    X[y == 0] *= [1, 9, 1, 1]
    X[y == 1] *= [1, 1, 1, 6]
    np.testing.assert_allclose(
        fit("gem", X, y, ridge=1e-6, standardize=False).projection, np.eye(4)[:, [1, 3]], atol=0.1
    )


def test_without_regularization_a_linear_map_of_the_features_changes_no_score() -> None:
    X, y = mixture([60, 40], 4)
    mixing = np.random.default_rng(1).standard_normal((4, 4))
    Z = fit("gem", X, y, ridge=1e-9, standardize=False).transform(X)
    Z_mixed = fit("gem", X @ mixing, y, ridge=1e-9, standardize=False).transform(X @ mixing)
    agreement = [abs(np.corrcoef(Z[:, i], Z_mixed[:, i])[0, 1]) for i in range(2)]
    np.testing.assert_allclose(agreement, 1, atol=1e-6)


def test_a_class_of_zeros_is_refused_in_words() -> None:
    X, y = mixture([10, 10], 3)
    X[y == 1] = 0
    with pytest.raises(ValueError, match="only zeros"):
        fit("gem", X, y, standardize=False)
