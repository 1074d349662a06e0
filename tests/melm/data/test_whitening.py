from __future__ import annotations

import numpy as np
import pytest

from melm.data.covariance import CovarianceKind, class_moments
from melm.data.whitening import FLOOR, Whitening, whiten
from melm.typing import Array
from tests.melm.samples import mixture, projection


def whitening(X: Array, y: np.ndarray[tuple[int], np.dtype[np.int_]], kind: CovarianceKind = "empirical") -> Whitening:
    return whiten([class_moments(X[y == code], kind) for code in np.unique(y)])


@pytest.mark.parametrize("kind", ["empirical", "ledoit_wolf"])
def test_pooled_covariance_becomes_the_identity(kind: CovarianceKind) -> None:
    X, y = mixture([60, 40, 30], 5)
    found = whitening(X, y, kind)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(np.einsum("c,crs->rs", shares, found.covariances), np.eye(5), atol=1e-12)
    np.testing.assert_allclose(found.from_features @ found.to_features, np.eye(5), atol=1e-12)
    assert found.floored == (False, False, False)


def test_coordinates_do_not_depend_on_an_affine_map() -> None:
    X, y = mixture([60, 40], 5)
    mapped = X @ projection(5, 5) + np.arange(5)
    np.testing.assert_allclose(
        X @ whitening(X, y).to_features, (mapped - np.arange(5)) @ whitening(mapped, y).to_features, atol=1e-9
    )


def test_directions_without_total_variance_are_dropped() -> None:
    X, y = mixture([60, 40], 3)
    X = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    found = whitening(X, y)
    assert found.to_features.shape == (4, 3)
    V = projection(4, 2)
    np.testing.assert_allclose(X @ found.to_features @ (found.from_features @ V), X @ V, atol=1e-10)


def test_a_direction_without_spread_inside_the_classes_stays() -> None:
    X, y = mixture([60, 40], 3)
    found = whitening(np.column_stack([X, y]), y)
    assert found.to_features.shape == (4, 4)
    assert found.floored == (True, True)
    assert np.linalg.eigvalsh(found.covariances[0])[0] > 0.1  # lifted once, with the pooled one, and not again below it


def test_a_class_without_spread_in_one_direction_is_lifted_there_and_nowhere_else() -> None:
    X, y = mixture([60, 40], 3)
    X[y == 1, 2] = 0.5
    found = whitening(X, y)
    assert found.floored == (False, True)
    spreads = np.linalg.eigvalsh(found.covariances[1])
    assert spreads[0] == pytest.approx(FLOOR, rel=1e-6)
    assert spreads[1] > 0.1
