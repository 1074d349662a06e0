from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import norm

from melm.density import ClassDensities
from melm.density.overlap import class_lattice, overlap
from tests.melm.samples import Array, mixture


def point_kernels(centers: list[Array], variance: float) -> ClassDensities:
    k = centers[0].shape[1]
    return ClassDensities(
        centers, np.stack([variance * np.eye(k)] * len(centers)), np.full(len(centers), 1 / len(centers))
    )


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_equals_the_closed_form_for_two_gaussians(distance: float, k: int) -> None:
    centers = [np.zeros((1, k)), np.full((1, k), distance / np.sqrt(k))]
    found = overlap(point_kernels(centers, 1.0))
    accuracy = 2e-3 if k < 4 else 2e-2  # beyond three components it is an average over draws
    assert found.minimum[0, 1] == pytest.approx(2 * norm.cdf(-distance / 2), abs=accuracy)
    assert found.affinity[0, 1] == pytest.approx(np.exp(-(distance**2) / 8), abs=accuracy)


def test_does_not_depend_on_scale_and_is_bounded() -> None:
    X, y = mixture([80, 60], 2)
    rows = [X[y == 0], X[y == 1]]
    small = overlap(point_kernels(rows, 0.1))
    large = overlap(point_kernels([100 * r for r in rows], 0.1 * 100**2))
    np.testing.assert_allclose(small.minimum, large.minimum, atol=1e-6)
    assert small.minimum[0, 1] <= small.affinity[0, 1] <= 1


def test_theorem_3_on_the_unit_cube() -> None:
    """-log of the integral of min(f, g) >= half the cross entropy, for densities on the unit cube."""

    def f(v: float, u: float) -> float:
        return 4 * u * v

    def g(v: float, u: float) -> float:
        return 4 * (1 - u) * (1 - v)

    shared = dblquad(lambda v, u: min(f(v, u), g(v, u)), 0, 1, 0, 1, epsabs=1e-6)[0]
    cross = dblquad(lambda v, u: f(v, u) * g(v, u), 0, 1, 0, 1)[0]
    assert -np.log(shared) >= -np.log(cross) / 2


def test_lattice_holds_densities() -> None:
    X, y = mixture([80, 60], 2)
    densities = point_kernels([X[y == 0], X[y == 1]], 0.2)
    lattice = class_lattice(densities)
    assert lattice is not None
    cell = np.prod([axis[1] - axis[0] for axis in lattice.axes])
    np.testing.assert_allclose(lattice.densities.sum(axis=(1, 2)) * cell, 1, atol=1e-5)
    i, j = (size // 2 + 7 for size in lattice.densities.shape[1:])
    point = np.array([[lattice.axes[0][i], lattice.axes[1][j]]]) @ np.linalg.inv(lattice.basis)
    expected = np.exp(densities.log_densities(point)[0]) / abs(np.linalg.det(lattice.basis))
    np.testing.assert_allclose(lattice.densities[:, i, j], expected, atol=1e-5)
