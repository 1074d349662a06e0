"""Class densities for tests."""

from __future__ import annotations

import numpy as np

from melm.density import ClassDensities
from melm.objective.bandwidth import silverman
from melm.typing import Array


def densities(k: int, n_rows: int = 3000, gap: float = 1.5, *, heavy: bool = False) -> ClassDensities:
    """Two classes of different spread; heavy: one row in ten lies far out."""
    generator = np.random.default_rng(k)
    rows = [generator.standard_normal((n_rows // 2, k)) + code * gap for code in range(2)]
    rows[0][:, 0] *= 1.7
    smoothing = np.stack([silverman(len(Z), k) ** 2 * np.cov(Z.T).reshape(k, k) for Z in rows])
    if heavy:
        for Z in rows:
            Z[::10] *= np.abs(generator.standard_t(1.5, (len(Z[::10]), 1)))
    return ClassDensities(rows, smoothing, np.array([0.5, 0.5]))


def queries(of: ClassDensities, n_rows: int = 400) -> Array:
    """Points among the rows, beside them, and far from all."""
    generator = np.random.default_rng(0)
    k = of.smoothing.shape[1]
    near = np.concatenate(of.rows)[:: len(of.rows[0]) * 2 // n_rows]
    beside = 4 * generator.standard_normal((n_rows // 4, k))
    return np.concatenate([near + 0.1 * generator.standard_normal(near.shape), beside, np.full((1, k), 1e6)])
