from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal

from melm.data.axes import covariance, principal_axes
from melm.data.rows import equal_shares
from melm.objective import entropy as entropy_module
from melm.objective.entropy import (
    SELF,
    Entropy,
    GaussianEntropy,
    Goal,
    KernelEntropy,
    optimize_entropy,
    project_by_entropy,
)
from melm.objective.potential.exact import ExactPotential
from melm.objective.potential.spectral import SpectralPotentials
from tests.melm import oracle
from tests.melm.methods.definitions import assert_same_subspace
from tests.melm.samples import Array, mixture, projection

X = mixture([60, 40], 5)[0]
CENTERED = X - X.mean(axis=0)
GOALS: tuple[Goal, ...] = ("maximize", "minimize")


def entropies() -> list[Entropy]:
    return [GaussianEntropy(covariance(X)), KernelEntropy(CENTERED), KernelEntropy(CENTERED, gamma=0.5)]


def trailing_axes(k: int) -> Array:
    return principal_axes(covariance(X), 5)[:, 5 - k :]


def leading_axes(k: int) -> Array:
    return principal_axes(covariance(X), k)


def test_gaussian_entropy_is_that_of_its_density() -> None:
    V = projection(5, 2)
    density = multivariate_normal(np.zeros(2), V.T @ covariance(X) @ V)
    squared, _ = dblquad(lambda b, a: density.pdf([a, b]) ** 2, -60, 60, -60, 60, epsabs=1e-9)
    assert GaussianEntropy(covariance(X)).value_and_gradient(V)[0] == pytest.approx(-np.log(squared), rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_kernel_entropy_equals_the_formula_as_plain_loops(k: int) -> None:
    V = projection(5, k)
    H = 2 * oracle.smoothing(X, "empirical", X.std(axis=0), k, 0.7)
    potential, slope = oracle.potential(X, X, H, V)
    value, gradient = KernelEntropy(CENTERED, gamma=0.7).value_and_gradient(V)
    assert value == pytest.approx(-np.log(potential), rel=1e-7)
    np.testing.assert_allclose(gradient, -slope / potential, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("entropy", entropies())
def test_gradient_equals_finite_differences(entropy: Entropy) -> None:
    V, step = projection(5, 2), 1e-5
    gradient = entropy.value_and_gradient(V)[1]
    for seed in range(5):
        direction = projection(5, 2, seed + 1)
        ahead, behind = (entropy.value_and_gradient(V + sign * step * direction)[0] for sign in (1, -1))
        assert (ahead - behind) / (2 * step) == pytest.approx((gradient * direction).sum(), rel=1e-6)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), index=st.integers(0, 2))
def test_a_change_of_basis_adds_the_log_of_its_volume(seed: int, index: int) -> None:
    V, entropy = projection(5, 2), entropies()[index]
    A = np.random.default_rng(seed).standard_normal((2, 2)) + 3 * np.eye(2)
    expected = entropy.value_and_gradient(V)[0] + np.log(abs(np.linalg.det(A)))
    assert entropy.value_and_gradient(V @ A)[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_theorems_1_and_2_the_extremes_of_gaussian_entropy_are_principal_components(k: int) -> None:
    """A numeric optimizer over orthonormal projections, told nothing of eigenvectors, arrives at them."""
    for goal, expected in zip(GOALS, (leading_axes(k), trailing_axes(k)), strict=True):
        entropy = GaussianEntropy(covariance(X))
        reached, V = optimize_entropy(entropy, projection(5, k), goal)
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        assert_same_subspace(V, expected, atol=1e-5)
        assert reached == pytest.approx(entropy.value_and_gradient(expected)[0], abs=1e-9)
        found = project_by_entropy(X, k, density="gaussian", goal=goal)
        assert_same_subspace(found.projection, expected)
        assert found.entropy == pytest.approx(reached, abs=1e-9)


@pytest.mark.parametrize("goal", GOALS)
def test_no_orthonormal_projection_goes_beyond_the_extreme_of_kernel_entropy(goal: Goal) -> None:
    found = project_by_entropy(X, 2, goal=goal)
    entropy = KernelEntropy(CENTERED)
    sign = 1 if goal == "maximize" else -1
    for seed in range(200):
        V = np.linalg.qr(projection(5, 2, seed))[0]
        assert sign * entropy.value_and_gradient(V)[0] <= sign * found.entropy
    nearby = np.linalg.qr(found.projection + 1e-3 * projection(5, 2))[0]
    assert sign * entropy.value_and_gradient(nearby)[0] < sign * found.entropy


def test_on_gaussian_rows_the_kernel_agrees_with_the_gaussian() -> None:
    rows = np.random.default_rng(0).standard_normal((3000, 3)) * [5, 2, 0.5]
    for goal in GOALS:
        kernel, gaussian = (project_by_entropy(rows, 2, density=d, goal=goal) for d in ("kernel", "gaussian"))
        assert_same_subspace(kernel.projection, gaussian.projection, atol=0.05)
        assert kernel.entropy == pytest.approx(gaussian.entropy, abs=0.1)


def test_least_entropy_finds_clusters_that_variance_does_not() -> None:
    """Two tight clusters on one axis, Gaussians of the same variance on the others."""
    rows = np.random.default_rng(0).standard_normal((400, 4))
    rows[:, 2] = np.where(np.arange(400) % 2 == 0, 1.0, -1.0) + 0.05 * rows[:, 2]
    rows /= rows.std(axis=0)
    found = project_by_entropy(rows, 1, goal="minimize", gamma=0.3)
    assert abs(found.projection[2, 0]) > 0.99


def test_is_projection_offset_and_entropy_of_its_rows() -> None:
    found = project_by_entropy(X, 2)
    np.testing.assert_allclose(found.projection.T @ found.projection, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.transform(X).mean(axis=0), 0, atol=1e-12)
    assert found.entropy == KernelEntropy(CENTERED).value_and_gradient(found.projection)[0]
    assert found.projection.tobytes() == project_by_entropy(X, 2).projection.tobytes()


@pytest.mark.parametrize("density", ["gaussian", "kernel"])
@pytest.mark.parametrize("goal", GOALS)
def test_directions_without_variance_are_left_out(density: entropy_module.Density, goal: Goal) -> None:
    degenerate = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    found = project_by_entropy(degenerate, 2, density=density, goal=goal)
    assert np.isfinite(found.entropy)
    assert found.transform(degenerate).std(axis=0).min() > 1e-3
    with pytest.raises(ValueError, match="n_components=6 is larger than the 5 dimensions"):
        project_by_entropy(degenerate, 6, density=density, goal=goal)


def test_the_cheaper_form_is_taken() -> None:
    generator = np.random.default_rng(0)
    forms = []
    for n_rows, k in ((50, 2), (20_000, 2), (50, 4)):
        Z, S = [generator.standard_normal((n_rows, k))], 0.1 * np.eye(k)[None]
        forms.append(entropy_module._potentials(Z, S, equal_shares(Z)))
    assert [type(form) for form in forms] == [ExactPotential, SpectralPotentials, ExactPotential]
    assert set(forms[1].log_values) == {SELF}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"density": "cauchy"}, "density='cauchy'"),
        ({"goal": "most"}, "goal='most'"),
        ({"gamma": 0}, "gamma=0"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_starts": 0}, "n_starts=0"),
        ({"X": np.ones((5, 3))}, "All features are constant"),
        ({"X": [[np.nan, 1], [2, 3]]}, "NaN"),
    ],
)
def test_bad_input_is_refused_by_name(bad: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        project_by_entropy(**({"X": X} | bad))  # type: ignore[arg-type]
