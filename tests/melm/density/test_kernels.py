"""Kernels summed over near rows only."""

from __future__ import annotations

import numpy as np
import pytest

from melm.density.kernels import Kernels
from melm.typing import Array, ShouldStop
from tests.melm.density.samples import densities, queries


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_near_rows_hold_all_that_counts(k: int, weighted: bool) -> None:
    chosen = densities(k, heavy=True)
    weights = np.random.default_rng(0).random(len(chosen.rows[0])) ** 8 + 1e-9 if weighted else None
    kernels = Kernels.prepare(chosen.rows[0], chosen.smoothing[0], None if weights is None else weights / weights.sum())
    Q = queries(chosen) @ kernels.basis
    np.testing.assert_allclose(kernels.log_density_by_near_rows(Q), kernels.log_density(Q), rtol=1e-12, atol=1e-9)


def test_far_rows_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = densities(2, 20_000)
    kernels = Kernels.prepare(chosen.rows[0], chosen.smoothing[0])
    looked_at = []

    def count(Q: Array, rows: Array, weights: None, should_stop: ShouldStop) -> Array:
        looked_at.append(len(rows))
        return np.zeros(len(Q))

    monkeypatch.setattr("melm.density.kernels._log_sums", count)
    kernels.log_density_by_near_rows(np.array([[60.0, 0.0], [80.0, 0.0], [500.0, 500.0]]))
    assert len(looked_at) == 3
    assert max(looked_at) < len(kernels.rows) / 10
