"""The bulk of a density by frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from melm.density.bulk import Bulk
from melm.density.kernels import Kernels
from tests.melm.density.samples import densities, queries


@pytest.mark.parametrize(
    ("k", "n_rows", "heavy"), [(1, 3000, False), (2, 3000, False), (3, 3000, False), (1, 3000, True), (2, 40_000, True)]
)
def test_what_is_resolved_is_right_and_the_rest_is_left_out(k: int, n_rows: int, heavy: bool) -> None:
    chosen = densities(k, n_rows, heavy=heavy)
    kernels = Kernels.prepare(chosen.rows[0], chosen.smoothing[0])
    bulk = Bulk.prepare(kernels)
    assert bulk is not None
    Q = queries(chosen) @ kernels.basis
    found = bulk.density(Q)
    exact = np.exp(kernels.log_density(Q) - np.linalg.slogdet(kernels.basis)[1])
    resolved = found > 0
    np.testing.assert_allclose(found[resolved], exact[resolved], rtol=1e-4)
    assert exact[~resolved].max() < 2 * bulk.resolution
    assert resolved.mean() > 0.5
    assert not resolved[-1]  # the one far from all


def test_far_rows_are_kept_off_the_grid_and_counted_all_the_same() -> None:
    chosen = densities(2, 40_000, heavy=True)
    kernels = Kernels.prepare(chosen.rows[0], chosen.smoothing[0])
    bulk = Bulk.prepare(kernels)
    assert bulk is not None
    assert bulk.far is not None
    exact = np.exp(kernels.log_density(bulk.far.rows) - np.linalg.slogdet(kernels.basis)[1])
    np.testing.assert_allclose(bulk.density(bulk.far.rows), exact, rtol=1e-6)


def test_a_grid_that_would_be_too_large_is_not_made() -> None:
    rows = np.random.default_rng(0).standard_cauchy((1500, 3)) * 1e6
    assert Bulk.prepare(Kernels.prepare(rows, np.eye(3))) is None
