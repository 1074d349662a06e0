"""The spectral form: potentials of several classes on one grid of frequencies, in time linear in the rows.

By Plancherel, with the characteristic function phi_c of a projected class and psi_c(xi) = phi_c(xi) exp(-xi^T S_c xi
/ 2),

    ip_ab = (2 pi)^-k * Integral of psi_a(xi) conj psi_b(xi) d xi.

The Gaussian limits the band, so the trapezoidal rule on a regular grid converges geometrically. The grid lives in a
basis u = z T of its own; its rows enter only through sums, so partial sums over blocks of rows add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from melm.objective.potential import Gradient, Pair, rotate
from melm.objective.potential.grid import Grid
from melm.objective.potential.transform import Spectrum
from melm.typing import Array


class SpectralPotentials:
    """log ip of the pairs of one grid, and its gradient."""

    def __init__(self, grid: Grid, Z: list[Array], S: Array, weights: Sequence[Array | None] | None = None) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k); weights: of the rows, equal by default.

        `psi` holds, by class, the characteristic function of its density estimate on the grid.
        """
        self._grid, T = grid, grid.basis
        self._frequencies = [
            index * step for index, step in zip(grid.transform.indices(grid.modes), grid.step, strict=True)
        ]
        measure = float(np.prod(grid.step / (2 * np.pi)) * abs(np.linalg.det(T)))
        self._weights = measure * grid.transform.multiplicity(grid.modes)
        self._transforms = {
            c: grid.transform(Z[c], T * grid.step, grid.center * grid.step, grid.modes, grid.tolerance)
            for c in grid.classes
        }
        self._damping = {c: self._gaussian(T.T @ S[c] @ T) for c in grid.classes}
        shares = weights or [None] * len(Z)
        self.psi = {c: self._transforms[c].forward(shares[c]) * self._damping[c] for c in grid.classes}
        self._values = {(a, b): self._inner(self.psi[a], self.psi[b]) for a, b in grid.pairs}
        with np.errstate(divide="ignore"):
            self.log_values = {pair: float(np.log(max(ip, 0.0))) for pair, ip in self._values.items()}

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip over this grid's pairs."""
        T = self._grid.basis
        for c in self._grid.classes:
            slopes = self._slopes(c, weights)
            if not slopes:
                continue
            combined = np.sum([slope * self.psi[b] for b, slope in slopes], axis=0)
            spectrum = self._weights * combined.conj() * self._damping[c]
            moments = self._weights * (self.psi[c] * combined.conj()).real
            smoothing = self._second_moments(moments)
            gradient.smoothing[c] -= T @ (smoothing / 2) @ T.T
            spectra = np.stack([1j * frequency * spectrum for frequency in self._frequencies])
            for block, slopes_in_u in self._transforms[c].backward(spectra):
                gradient.rows[c][block] += rotate(slopes_in_u, T.T / len(gradient.rows[c]))

    def _slopes(self, c: int, weights: Mapping[Pair, float]) -> list[tuple[int, float]]:
        """Partners b of class c with d f / d ip_cb; a class with itself counts for both of its places."""
        slopes = []
        for (a, b), ip in self._values.items():
            if c in (a, b) and ip > 0 and (a, b) in weights:
                partner = b if c == a else a
                slopes.append((partner, weights[a, b] / ip * (2 if a == b else 1)))
        return slopes

    def _gaussian(self, S: Array) -> Array:
        """exp(-xi^T S xi / 2) on the grid."""
        exponent = sum(
            S[i, j] * self._frequencies[i] * self._frequencies[j] for i in range(len(S)) for j in range(len(S))
        )
        gaussian: Array = np.exp(-exponent / 2)
        return gaussian

    def _inner(self, left: Spectrum, right: Spectrum) -> float:
        return float((self._weights * (left.real * right.real + left.imag * right.imag)).sum())

    def _second_moments(self, density: Array) -> Array:
        """Sums of density * xi_i xi_j over the grid: (k, k)."""
        k = len(self._frequencies)
        return np.array(
            [[(density * self._frequencies[i] * self._frequencies[j]).sum() for j in range(k)] for i in range(k)]
        )
