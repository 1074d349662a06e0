"""Weights are frequencies: a row of weight three is three rows, one of weight zero is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import melm
from melm.data.labeled import Labeled
from melm.density.projected import class_densities
from melm.objective import divergence
from melm.objective.divergence import Form
from melm.objective.potential import grid
from tests.melm.samples import Array, mixture, projection

FORMS: list[Form] = ["exact", "spectral", "auto"]


def weighted(sizes: list[int], n_features: int) -> tuple[Array, npt.NDArray[Any], npt.NDArray[np.intp]]:
    X, y = mixture(sizes, n_features)
    return X, y, np.random.default_rng(5).integers(0, 4, len(X))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["empirical", "ledoit_wolf"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_value_and_gradient_equal_those_of_repeated_rows(form: Form, kind: melm.Covariance, k: int) -> None:
    X, y, weights = weighted([40, 31, 25], 5)
    V = projection(5, k)

    def objective(X: Array, y: Any, weights: Any = None) -> melm.Divergence:
        return melm.Divergence(
            X, y, n_components=k, covariance=kind, form=form, spectral_tolerance=1e-13, sample_weight=weights
        )

    value, gradient = objective(X, y, weights).value_and_gradient(V)
    expected, slope = objective(np.repeat(X, weights, axis=0), np.repeat(y, weights)).value_and_gradient(V)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-10 * np.abs(slope).max())
    kept = weights > 0
    np.testing.assert_array_equal(objective(X[kept], y[kept], weights[kept]).value_and_gradient(V)[1], gradient)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_far_rows_beside_a_grid_have_weights_too(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "TRIMMED_ROWS", 0)
    X, y, weights = weighted([900, 700], 4)
    X[:4] *= 500
    V = projection(4, k)
    objective = melm.Divergence(
        X, y, n_components=k, form="spectral", covariance="empirical", spectral_tolerance=1e-12, sample_weight=weights
    )
    exact = melm.Divergence(X, y, n_components=k, form="exact", covariance="empirical", sample_weight=weights)
    value, gradient = objective.value_and_gradient(V)
    expected, slope = exact.value_and_gradient(V)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-8 * np.abs(slope).max())


def test_classes_far_apart_are_weighed_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "QUICK_SECONDS", 0.0)
    X, y, weights = weighted([60, 50], 3)
    X[y == 1, 0] += 60
    V = np.eye(3)[:, :2]
    value = melm.divergence(X, y, V, covariance="empirical", sample_weight=weights)
    repeated = melm.divergence(np.repeat(X, weights, axis=0), np.repeat(y, weights), V, covariance="empirical")
    assert value > 100
    assert value == pytest.approx(repeated, rel=1e-10)


def test_densities_equal_those_of_repeated_rows() -> None:
    X, y, weights = weighted([40, 31, 25], 5)
    once = Labeled.check(X, y, sample_weight=weights).prepare("ledoit_wolf", ridge=0.3)
    often = Labeled.check(np.repeat(X, weights, axis=0), np.repeat(y, weights)).prepare("ledoit_wolf", ridge=0.3)
    np.testing.assert_allclose(once.spread.total, often.spread.total, rtol=1e-10)
    V = once.canonical(projection(5, 2))
    ours, theirs = (class_densities(prepared, V, 0.8, "empirical") for prepared in (once, often))
    Z = (X - X.mean(axis=0)) @ V
    np.testing.assert_allclose(ours.log_posteriors(Z), theirs.log_posteriors(Z), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.log_density(Z), theirs.log_density(Z), rtol=1e-10)


def test_leaving_one_out_leaves_its_whole_weight_out() -> None:
    X, y, weights = weighted([12, 10], 3)
    data = Labeled.check(X, y, sample_weight=weights)
    densities = class_densities(data.prepare("empirical"), projection(3, 2), 1.0, "balanced")
    _, posteriors = densities.leave_one_out([np.array([2]), np.array([], dtype=np.intp)])
    assert densities.weights is not None
    kept = np.arange(len(densities.rows[0])) != 2
    share = densities.weights[0][kept]
    others = type(densities)(
        [densities.rows[0][kept], densities.rows[1]],
        densities.smoothing,
        densities.priors,
        [share / share.sum(), densities.weights[1]],
    )
    expected = others.log_posteriors(densities.rows[0][2:3])
    np.testing.assert_allclose(posteriors, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1, 1, 1], r"sample_weight\[1\] is -1.0: a weight is a finite number, 0 or more"),
        ([1.0, 1, np.nan, 1], r"sample_weight\[2\] is nan"),
        ([1.0, 1, 1, np.inf], r"sample_weight\[3\] is inf"),
        ([0, 0, 0, 0], "All weights are zero"),
        ([1.0, 1, 1], r"shape \(3,\), expected one weight for each row, \(4,\)"),
        ([1, 1, 0, 0], "At least two classes are needed, got 1"),
        ([1, 1, 1, 0], "Every class needs at least 2 rows"),
    ],
)
def test_bad_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        melm.Divergence(np.arange(8.0).reshape(4, 2) ** 2, [0, 0, 1, 1], sample_weight=weights)
