"""Class densities: the exact sum over rows, and the faster way where it would take long."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import melm.density
from melm.density import ClassDensities
from melm.typing import Array
from tests.melm.density.samples import densities, queries


def plain(of: ClassDensities, Z: Array) -> Array:
    """The definition, kernel by kernel."""
    columns = []
    for rows, S in zip(of.rows, of.smoothing, strict=True):
        kernel = multivariate_normal(np.zeros(len(S)), S)
        columns.append([np.logaddexp.reduce(np.atleast_1d(kernel.logpdf(z - rows))) - np.log(len(rows)) for z in Z])
    return np.array(columns).T


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_sum_over_rows_is_the_definition(k: int) -> None:
    chosen = densities(k, 200)
    Z = queries(chosen, 20)
    np.testing.assert_allclose(chosen.log_densities(Z), plain(chosen, Z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("gap", [1.5, 20.0])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_fast_way_gives_the_same(k: int, gap: float, heavy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = densities(k, gap=gap, heavy=heavy)
    Z = queries(chosen)
    exact = chosen.log_densities(Z)
    monkeypatch.setattr(melm.density, "EXACT_PAIRS", 0)
    fast = chosen.log_densities(Z)
    np.testing.assert_allclose(fast, exact, rtol=1e-9, atol=1e-4)
    assert np.abs(fast - exact).mean() < 1e-6
    np.testing.assert_array_equal(fast.argmax(axis=1), exact.argmax(axis=1))


def test_few_queries_or_many_components_are_summed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.density.Bulk.prepare", lambda kernels: pytest.fail("a grid was made"))
    densities(2).log_densities(queries(densities(2)))
    monkeypatch.setattr(melm.density, "EXACT_PAIRS", 0)
    densities(4).log_densities(queries(densities(4)))


@pytest.mark.parametrize("pairs", [0, melm.density.EXACT_PAIRS])
def test_leaving_one_out_is_the_density_of_the_others(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(melm.density, "EXACT_PAIRS", pairs)
    chosen = densities(2, 2000)
    codes, posteriors = chosen.leave_one_out([np.array([3, 700]), np.array([5])])
    assert codes.tolist() == [0, 0, 1]
    for found, code, member in zip(posteriors, codes, (3, 700, 5), strict=True):
        rows = list(chosen.rows)
        rows[code] = np.delete(rows[code], member, axis=0)
        others = ClassDensities(rows, chosen.smoothing, chosen.priors)
        expected = others.log_posteriors(chosen.rows[code][member : member + 1])[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_weights_count_rows_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = densities(2, 1000)
    counts = [np.arange(len(rows)) % 3 + 1 for rows in chosen.rows]
    weighted = ClassDensities(chosen.rows, chosen.smoothing, chosen.priors, [n / n.sum() for n in counts])
    repeated = ClassDensities(
        [np.repeat(rows, n, axis=0) for rows, n in zip(chosen.rows, counts, strict=True)],
        chosen.smoothing,
        chosen.priors,
    )
    Z = queries(chosen)
    expected = repeated.log_densities(Z)
    np.testing.assert_allclose(weighted.log_densities(Z), expected, rtol=1e-10, atol=1e-10)
    monkeypatch.setattr(melm.density, "EXACT_PAIRS", 0)
    np.testing.assert_allclose(weighted.log_densities(Z), expected, rtol=1e-9, atol=1e-4)


def test_thinning_takes_rows_by_their_weight() -> None:
    chosen = densities(1, 2000)
    even = chosen.thin(0, 100)
    assert even.shape == (100, 1)
    np.testing.assert_array_equal(chosen.thin(0, 10**6), chosen.rows[0])
    left = (chosen.rows[0][:, 0] < 0) * 9.0 + 1.0
    weights = [left / left.sum(), np.full(1000, 1e-3)]
    drawn = ClassDensities(chosen.rows, chosen.smoothing, chosen.priors, weights).thin(0, 200)
    assert np.mean(drawn < 0) == pytest.approx(weights[0][chosen.rows[0][:, 0] < 0].sum(), abs=0.02)
