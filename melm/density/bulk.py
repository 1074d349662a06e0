"""The bulk of one class's density by frequencies: its cost grows with rows plus queries, not with their product.

The characteristic function of the rows, times that of the kernel, is stored on a regular grid
(`melm.objective.potential`), and a non-uniform FFT evaluates the density at the queries. Its error is absolute, so the
tails are computed in another way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from melm.density.kernels import Kernels
from melm.objective.potential.grid import density_grid
from melm.objective.potential.spectral import characteristic_functions
from melm.objective.potential.transform import Modes, Nonuniform, Spectrum
from melm.typing import Array

MAX_POINTS = 2**21  # of a grid that is kept with a model: 32 MiB
MAX_POINTS_IN_ALL = 2**24  # of the grids of all classes
TOLERANCES = {1: 1e-12, 2: 1e-12, 3: 1e-9}  # relative to the peak, by components
NO_ROWS = np.empty(0, dtype=np.intp)
RESOLVED = 100  # a density is trusted down to this many times the tolerance


@dataclass(frozen=True)
class Bulk:
    """The density of one class in coordinates where its kernels are unit Gaussians."""

    center: Array  # (k,)
    step: Array  # (k,), of the frequencies
    modes: Modes
    tolerance: float
    spectrum: Spectrum
    resolution: float  # densities below are not resolved
    far: Kernels | None  # of the few rows that the grid leaves out

    @classmethod
    def prepare(cls, kernels: Kernels, max_points: int = MAX_POINTS) -> Bulk | None:
        """From a class's kernels; None where the grid would be too large."""
        grid = density_grid(kernels.rows, TOLERANCES[kernels.rows.shape[1]])
        if grid is None or np.prod(2 * np.array(grid.modes) + 1) > max_points:
            return None
        n_rows, n_components = kernels.rows.shape
        weights = np.full(n_rows, 1 / n_rows) if kernels.weights is None else kernels.weights
        identity, far = np.eye(n_components), grid.far.get(0, NO_ROWS)
        rows, shares = kernels.rows, weights
        if len(far):
            rows, shares = np.delete(rows, far, axis=0), np.delete(shares, far)
        (psi,) = characteristic_functions(grid, [rows], identity[None], [shares])
        spectrum = np.prod(grid.step / (2 * np.pi)) * psi.conj()
        return cls(
            center=grid.center,
            step=grid.step,
            modes=grid.modes,
            tolerance=grid.tolerance,
            spectrum=spectrum,
            resolution=float(RESOLVED * grid.tolerance * np.abs(spectrum).sum()),
            far=Kernels.prepare(kernels.rows[far], identity, weights[far]) if len(far) else None,
        )

    def density(self, Q: Array) -> Array:
        """The density at whitened queries Q (n, k); zero where it is not resolved."""
        density = self._by_frequencies(Q)
        if self.far is not None:
            reach = np.sqrt(-2 * np.log(self.tolerance))
            beside = np.isfinite(cKDTree(self.far.rows).query(Q, distance_upper_bound=reach)[0])
            density[beside] += np.exp(self.far.log_density(Q[beside]))
        return np.where(density > self.resolution, density, 0.0)

    def _by_frequencies(self, Q: Array) -> Array:
        """The density of the rows on the grid at queries within its period; beyond it, zero."""
        reached = np.flatnonzero((np.abs(Q - self.center) * self.step <= np.pi).all(axis=1))
        basis, shift = np.diag(self.step), self.center * self.step
        transform = Nonuniform(Q[reached], basis, shift, self.modes, self.tolerance)
        density = np.zeros(len(Q))
        for block, values in transform.backward(self.spectrum[None]):
            density[reached[block]] = values[:, 0]
        return density
