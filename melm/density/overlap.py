"""The overlap of the class densities in the projection: two measures that do not depend on its scale.

Both are computed from the densities on a regular lattice, by one FFT of their characteristic functions. Beyond three
components, or if a lattice would be too large, they are estimated from samples drawn from the densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.fft import fftn, next_fast_len

from melm.data.rows import equal_shares
from melm.density import ClassDensities
from melm.objective.potential.grid import shared_grid
from melm.objective.potential.spectral import characteristic_functions
from melm.typing import Array

TOLERANCE = 1e-6
LATTICE_COMPONENTS = 3
LATTICE_POINTS = 2**20
REFINEMENT = {1: 16, 2: 4, 3: 2}  # lattice points per frequency and axis: a minimum of two densities has kinks
DRAWS = 4096  # from each class, if there is no lattice


@dataclass(frozen=True)
class Overlap:
    """Symmetric (C, C) matrices with ones on the diagonal."""

    minimum: Array  # integral of min(f, g): twice the Bayes error of two balanced classes
    affinity: Array  # integral of sqrt(f g): its upper bound


@dataclass(frozen=True)
class Lattice:
    """Densities at regular points u = z @ basis of the projected space."""

    densities: Array  # (C, points of axis 1, ...), per volume of u
    axes: list[Array]  # k of (points,)
    basis: Array  # (k, k)


def overlap(densities: ClassDensities) -> Overlap:
    """The overlap of every pair of classes."""
    lattice = class_lattice(densities)
    if lattice is None:
        return _from_draws(densities)
    cell = np.prod([axis[1] - axis[0] for axis in lattice.axes])
    f = lattice.densities.reshape(len(lattice.densities), -1)
    minimum = np.array([[np.minimum(a, b).sum() for b in f] for a in f]) * cell
    roots = np.sqrt(f)
    return Overlap(np.clip(minimum, 0, 1), np.clip(roots @ roots.T * cell, 0, 1))


def class_lattice(densities: ClassDensities) -> Lattice | None:
    """The class densities on a lattice that covers all but a few far rows; None if it would be too large."""
    n_classes = len(densities.rows)
    if densities.smoothing.shape[1] > LATTICE_COMPONENTS:
        return None
    pairs = list(combinations_with_replacement(range(n_classes), 2))
    grid = shared_grid(pairs, densities.rows, densities.smoothing, TOLERANCE)
    if grid is None:
        return None
    shape = tuple(next_fast_len(REFINEMENT[len(grid.modes)] * (2 * m + 1)) for m in grid.modes)
    if np.prod(shape) > LATTICE_POINTS:
        return None
    rows = [np.delete(Z, grid.far[c], axis=0) if c in grid.far else Z for c, Z in enumerate(densities.rows)]
    weights = densities.weights or equal_shares(densities.rows)
    near = [np.delete(own, grid.far.get(c, [])) for c, own in enumerate(weights)]
    shares = [own / own.sum() for own in near]
    psi = characteristic_functions(grid, rows, densities.smoothing, shares)
    values = np.empty((n_classes, *shape))
    for c in range(n_classes):
        padded = np.zeros(shape, dtype=np.complex128)
        padded[np.ix_(*(np.arange(-m, m + 1) for m in grid.modes))] = psi[c]
        values[c] = np.maximum(np.fft.fftshift(fftn(padded, overwrite_x=True).real), 0.0)
    values *= np.prod(grid.step / (2 * np.pi))
    axes = [
        center + (np.arange(size) - size // 2) * (2 * np.pi / step / size)
        for center, step, size in zip(grid.center, grid.step, shape, strict=True)
    ]
    return Lattice(values, axes, grid.basis)


def _from_draws(densities: ClassDensities) -> Overlap:
    """The same by Monte Carlo: min(f, g) and sqrt(f g) over the mean of f and g, averaged over samples of both."""
    n_classes = len(densities.rows)
    generator = np.random.default_rng(0)
    logs = []
    for c, (rows, S) in enumerate(zip(densities.rows, densities.smoothing, strict=True)):
        noise = generator.standard_normal((DRAWS, len(S))) @ np.linalg.cholesky(S).T
        weights = None if densities.weights is None else densities.weights[c]
        logs.append(densities.log_densities(rows[generator.choice(len(rows), DRAWS, p=weights)] + noise))
    minimum, affinity = np.eye(n_classes), np.eye(n_classes)
    for a in range(n_classes):
        for b in range(a):
            gap = np.concatenate([logs[a], logs[b]])[:, [a, b]]
            mean = np.logaddexp(gap[:, 0], gap[:, 1]) - np.log(2)
            minimum[a, b] = minimum[b, a] = np.exp(gap.min(axis=1) - mean).mean()
            affinity[a, b] = affinity[b, a] = np.exp(gap.mean(axis=1) - mean).mean()
    return Overlap(minimum, affinity)
