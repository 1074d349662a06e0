"""The leave-one-out log posterior: against plain loops, its gradient, and both of its forms."""

from __future__ import annotations

import numpy as np
import pytest

from melm.data.prepared_rows import PreparedRows
from melm.objective.divergence import Form
from melm.objective.posterior import WhitenedPosterior, background
from tests.melm.samples import Array, blobs, mixture, projection

FORMS: list[Form] = ["exact", "spectral"]


def prepared(sizes: list[int], n_features: int = 4, weights: Array | None = None) -> PreparedRows:
    X, y = mixture(sizes, n_features)
    return PreparedRows.prepare(X, y, len(sizes), "ledoit_wolf", weights=weights)


def by_plain_loops(given: PreparedRows, V: Array) -> float:
    Z = given.rows.project(given.whitening.to_features @ V)
    k = V.shape[1]
    S = [
        (4 / (k + 2)) ** (2 / (k + 4)) * size ** (-2 / (k + 4)) * V.T @ C @ V
        for size, C in zip(given.rows.sizes, given.whitening.covariances, strict=True)
    ]
    peaks = [(2 * np.pi) ** (-k / 2) / np.sqrt(np.linalg.det(s)) for s in S]
    total = 0.0
    for own, rows in enumerate(Z):
        for i, z in enumerate(rows):
            g = []
            for code, others in enumerate(Z):
                density, mass = 0.0, 0.0
                for j, other in enumerate(others):
                    if (own, i) != (code, j):
                        share = given.rows.shares[code][j]
                        density += share * peaks[code] * np.exp(-(z - other) @ np.linalg.solve(S[code], z - other) / 2)
                        mass += share
                g.append(density / mass + 1e-5 * np.mean(peaks))
            total += given.rows.shares[own][i] * np.log(g[own] / sum(g)) / len(Z)
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("sizes", [[30, 21], [15, 20, 12]], ids=str)
def test_equals_plain_loops(form: Form, k: int, sizes: list[int]) -> None:
    given, V = prepared(sizes), projection(4, k)
    assert WhitenedPosterior(given, k, form=form).value(V) == pytest.approx(by_plain_loops(given, V), abs=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_weights_say_how_often_a_row_counts(form: Form) -> None:
    weights = np.random.default_rng(0).uniform(0.2, 3, 50)
    given, V = prepared([30, 20], weights=weights), projection(4, 2)
    assert WhitenedPosterior(given, 2, form=form).value(V) == pytest.approx(by_plain_loops(given, V), abs=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("distance", [0, 6, 10, 30])
def test_gradient_follows_finite_differences(form: Form, distance: float) -> None:
    X, y = blobs(distance, n_rows=120)
    objective = WhitenedPosterior(PreparedRows.prepare(X, y, 2, "ledoit_wolf"), 2, form=form)
    V = np.linalg.qr(projection(3, 2))[0]
    value, gradient = objective.value_and_gradient(V)
    assert np.isfinite(value)
    for i, j in np.ndindex(3, 2):
        step = np.zeros_like(V)
        step[i, j] = 1e-5
        slope = (objective.value(V + step) - objective.value(V - step)) / 2e-5
        assert gradient[i, j] == pytest.approx(slope, abs=2e-5 * max(1.0, np.abs(gradient).max()))


def test_far_rows_are_summed_exactly() -> None:
    X, y = blobs(2.0, n_rows=3000)
    X[:3] += [400.0, -900.0, 0.0]
    given, V = PreparedRows.prepare(X, y, 2, "ledoit_wolf"), np.linalg.qr(projection(3, 2))[0]
    (exact, slope), (spectral, other) = (WhitenedPosterior(given, 2, form=form).value_and_gradient(V) for form in FORMS)
    assert spectral == pytest.approx(exact, abs=1e-6)
    np.testing.assert_allclose(other, slope, atol=1e-5 * np.abs(slope).max())


def test_only_the_column_space_matters() -> None:
    given, V = prepared([40, 30]), projection(4, 2)
    objective = WhitenedPosterior(given, 2)
    assert objective.value(V @ [[2.0, 1.0], [0.0, -3.0]]) == pytest.approx(objective.value(V), abs=1e-9)


def test_the_background_is_a_share_of_the_kernels_peak() -> None:
    assert background(np.stack([np.eye(2)])) == pytest.approx(1e-5 / (2 * np.pi))
