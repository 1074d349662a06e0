"""Value and gradient of the divergence: against the paper's formulas, by its laws, and where classes lie far apart."""

from __future__ import annotations

from typing import Any

import finufft
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_iris

import melm
from melm.data.labeled import Labeled
from melm.objective import divergence as divergence_module
from melm.objective.divergence import Form, WhitenedDivergence
from melm.search.sample import sample
from tests.melm import oracle
from tests.melm.samples import Array, blobs, mixture, projection

FORMS: list[Form] = ["exact", "spectral"]
TIGHT = 1e-13


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["empirical", "ledoit_wolf"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("sizes", [[40, 31], [25, 40, 18], [12, 20, 15, 9]], ids=str)
def test_equals_the_papers_formulas(form: Form, kind: melm.Covariance, k: int, sizes: list[int]) -> None:
    X, y = mixture(sizes, 5)
    V = projection(5, k)
    value, gradient = oracle.divergence(X, y, V, 0.8, kind)
    objective = melm.Divergence(X, y, n_components=k, gamma=0.8, covariance=kind, form=form, spectral_tolerance=TIGHT)
    ours, slope = objective.value_and_gradient(V)
    assert ours == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope, gradient, atol=1e-9 * np.abs(gradient).max())
    assert objective.value(V) == ours


@pytest.mark.parametrize(
    ("sizes", "k", "form"), [([150, 120], 2, "spectral"), ([30, 25], 5, "exact"), ([2, 2], 1, "exact")]
)
def test_equals_the_papers_formulas_at_other_sizes(sizes: list[int], k: int, form: Form) -> None:
    X, y = mixture(sizes, 6 if k > 1 else 1)
    V = projection(X.shape[1], k)
    value, gradient = oracle.divergence(X, y, V)
    objective = melm.Divergence(X, y, n_components=k, covariance="empirical", form=form, spectral_tolerance=TIGHT)
    ours, slope = objective.value_and_gradient(V)
    assert ours == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope, gradient, atol=1e-9 * max(1.0, np.abs(gradient).max()))


@pytest.mark.parametrize("form", [*FORMS, "auto"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_gradient_follows_finite_differences(form: Form, k: int) -> None:
    X, y = mixture([200, 150, 90], 4)
    objective = melm.Divergence(X, y, n_components=k, form=form, spectral_tolerance=TIGHT)
    V = projection(4, k)
    gradient = objective.value_and_gradient(V)[1]
    for i, j in np.ndindex(4, k):
        step = np.zeros_like(V)
        step[i, j] = 1e-5
        slope = (objective.value(V + step) - objective.value(V - step)) / 2e-5
        assert slope == pytest.approx(gradient[i, j], abs=1e-8)


def test_default_tolerance_is_near_the_exact_form() -> None:
    X, y = mixture([1500, 1200], 6)
    V = projection(6, 2)
    exact = melm.Divergence(X, y, form="exact").value_and_gradient(V)
    spectral = melm.Divergence(X, y, form="spectral").value_and_gradient(V)
    assert spectral[0] == pytest.approx(exact[0], rel=1e-8)
    np.testing.assert_allclose(spectral[1], exact[1], atol=1e-7)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 3), n_classes=st.integers(2, 3))
def test_laws(seed: int, k: int, n_classes: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(5, 40, n_classes).tolist()
    X, y = mixture(sizes, 4, seed)
    V = projection(4, k, seed)
    value = melm.divergence(X, y, V)
    assert value >= -1e-9
    mixing = np.linalg.qr(generator.standard_normal((k, k)))[0] * generator.uniform(0.2, 5, k)
    assert melm.divergence(X, y, V @ mixing) == pytest.approx(value, rel=1e-7, abs=1e-8)
    assert melm.divergence(X + generator.normal(scale=10, size=4), y, V) == pytest.approx(value, rel=1e-7, abs=1e-8)
    assert melm.divergence(X, n_classes - 1 - y, V) == pytest.approx(value, rel=1e-7, abs=1e-8)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 3))
def test_equal_classes_have_no_divergence(seed: int, k: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((30, 4))
    X, y = np.concatenate([rows, rows]), np.repeat([0, 1], 30)
    assert melm.divergence(X, y, projection(4, k, seed)) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("distance", [6, 10, 30, 300])
@pytest.mark.parametrize("n_rows", [300, 5000])
def test_separated_classes_keep_their_accuracy(distance: float, n_rows: int) -> None:
    X, y = blobs(distance, n_rows)
    V = projection(3, 2)
    exact = melm.Divergence(X, y, form="exact").value_and_gradient(V)
    spectral = melm.Divergence(X, y, form="spectral").value_and_gradient(V)
    assert np.isfinite(exact[0])
    assert spectral[0] == pytest.approx(exact[0], rel=1e-9)
    np.testing.assert_allclose(spectral[1], exact[1], atol=1e-6 * np.abs(exact[1]).max())


def test_separation_that_underflows_equals_its_closed_form() -> None:
    """Two classes of two points each, far apart: the closest pair alone makes up the cross potential."""
    X = np.array([[0.0], [1.0], [1000.0], [1001.0]])
    y = np.array([0, 0, 1, 1])
    h = (4 / 3) ** 0.2 * 2**-0.2
    variance = 2 * h**2 * 0.25
    own = np.log((1 + np.exp(-1 / (2 * variance))) / 2)
    cross = -(999.0**2) / (2 * variance) - np.log(4)
    assert melm.divergence(X, y, [[1.0]], covariance="empirical") == pytest.approx(2 * own - 2 * cross, rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_iris_where_one_class_lies_apart(form: Form) -> None:
    X, y = load_iris(return_X_y=True)
    V = np.array([[0.2, 0.1], [0.3, -0.5], [-0.7, 0.4], [-0.6, -0.8]])
    exact = melm.Divergence(X, y, form="exact").value_and_gradient(V)
    ours = melm.Divergence(X, y, form=form).value_and_gradient(V)
    assert ours[0] == pytest.approx(exact[0], rel=1e-8)
    np.testing.assert_allclose(ours[1], exact[1], atol=1e-6 * np.abs(exact[1]).max())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_far_rows_change_neither_accuracy_nor_form(k: int) -> None:
    X, y = mixture([2500, 2000], 4)
    X[:3] *= 1e4
    X[5] *= -3e4
    V = projection(4, k)
    exact = melm.Divergence(X, y, n_components=k, form="exact").value_and_gradient(V)
    # Rows and smoothing pull with ten thousand times what is left of their difference, and so do the errors of a grid.
    spectral = melm.Divergence(X, y, n_components=k, form="spectral", spectral_tolerance=1e-9)
    ours = spectral.value_and_gradient(V)
    assert ours[0] == pytest.approx(exact[0], rel=1e-7)
    np.testing.assert_allclose(ours[1] * 1e4, exact[1] * 1e4, atol=1e-3 * max(1, np.abs(exact[1] * 1e4).max()))


def test_classes_of_very_different_spread() -> None:
    """One shared grid would need a million frequencies an axis; grids by pair do not."""
    generator = np.random.default_rng(3)
    X = generator.standard_normal((4000, 3))
    y = np.arange(4000) % 2
    X[y == 1] *= 1e-4
    V = projection(3, 2)
    exact = melm.Divergence(X, y, covariance="empirical", form="exact").value_and_gradient(V)
    ours = melm.Divergence(X, y, covariance="empirical", form="spectral").value_and_gradient(V)
    assert ours[0] == pytest.approx(exact[0], rel=1e-7)
    np.testing.assert_allclose(ours[1], exact[1], atol=1e-5 * np.abs(exact[1]).max())


def test_all_classes_of_a_grid_are_spread_and_interpolated_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixture([40, 50, 60, 45, 55], 6)
    melm.Divergence(X, y, n_components=3, form="spectral").value_and_gradient(projection(6, 3))
    made = []
    plan = finufft.Plan

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        return plan(*arguments, **options)

    monkeypatch.setattr(finufft, "Plan", counted)
    melm.Divergence(X, y, n_components=3, form="spectral").value_and_gradient(projection(6, 3))
    assert [kind for kind, _ in made] == [1, 2]


def test_a_hard_pair_does_not_collapse() -> None:
    """The soft minimum prefers the direction in which all classes are apart to one with a single distant class.

    The plain mean of pairs prefers the second, and lets two classes fall onto each other.
    """
    generator = np.random.default_rng(5)
    X = 0.5 * generator.standard_normal((300, 2))
    y = np.arange(300) % 3
    X[:, 0] += np.array([0.0, 2.5, 5.0])[y]  # all apart
    X[:, 1] += np.array([0.0, 0.0, 30.0])[y]  # two classes on each other
    objective = melm.Divergence(X, y, n_components=1)
    together, apart = objective.value([[1.0], [0.0]]), objective.value([[0.0], [1.0]])
    assert together > apart
    pairs = [melm.divergence(X[y != c], y[y != c], [[0.0], [1.0]]) for c in range(3)]
    flat = [melm.divergence(X[y != c], y[y != c], [[1.0], [0.0]]) for c in range(3)]
    assert np.mean(pairs) > np.mean(flat)


def test_entropy_terms_make_up_the_divergence() -> None:
    X, y = mixture([50, 60], 4)
    V = projection(4, 2)
    objective = melm.Divergence(X, y)
    H = objective.entropies(V)
    assert 2 * H[0, 1] - (H[0, 0] + H[1, 1]) == pytest.approx(objective.value(V), rel=1e-9)
    scaled = melm.Divergence(100 * X, y).entropies(V)
    np.testing.assert_allclose(scaled - H, 2 * np.log(100), rtol=1e-6)


@pytest.mark.parametrize(
    ("V", "message"),
    [
        (np.eye(4)[:, :3], "shape"),
        (np.full((4, 2), np.nan), "NaN"),
        (np.ones((4, 2)), "dependent"),
    ],
)
def test_bad_projections_are_refused(V: Array, message: str) -> None:
    X, y = mixture([20, 20], 4)
    with pytest.raises(ValueError, match=message):
        melm.Divergence(X, y).value(V)


def test_spectral_form_is_refused_beyond_three_components() -> None:
    X, y = mixture([20, 20], 5)
    with pytest.raises(ValueError, match="3 components"):
        melm.Divergence(X, y, n_components=4, form="spectral")


@pytest.mark.parametrize("kind", ["empirical", "ledoit_wolf"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("form", FORMS)
def test_smoothing_by_rows_equals_that_by_covariances(
    kind: melm.Covariance, ridge: float, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = mixture([40, 50, 30], 12)
    weights = np.random.default_rng(0).uniform(0.5, 3, len(X))
    prepared = Labeled.check(X, y, sample_weight=weights).prepare(kind, ridge=ridge)
    V = projection(12, 2)
    results = []
    for least in (0, 10**9):
        monkeypatch.setattr(divergence_module, "ROWS_ARE_LESS", least)
        objective = WhitenedDivergence(prepared, 2, 0.9, form)
        assert objective._by_rows is (least == 0)
        results.append(objective.value_and_gradient(V))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-11)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=0, atol=1e-10 * np.abs(results[1][1]).max())


def test_covariances_that_are_not_those_of_the_rows_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence_module, "ROWS_ARE_LESS", 0)
    X, y = mixture([40, 50], 6)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    X[y == 0, 0] = 0.0
    lifted = Labeled.check(X, y).prepare("empirical")
    for other in (sample(prepared, 60, 0), prepared.reweighted([np.ones(40), np.ones(50)], "empirical"), lifted):
        assert not WhitenedDivergence(other, 2)._by_rows
    assert WhitenedDivergence(prepared, 2)._by_rows
