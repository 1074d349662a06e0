"""The spectral form: potentials of several classes on one grid of frequencies, in time linear in the rows.

By Plancherel, with the characteristic function phi_c of a projected class and psi_c(xi) = phi_c(xi) exp(-xi^T S_c xi
/ 2),

    ip_ab = (2 pi)^-k * Integral of psi_a(xi) conj psi_b(xi) d xi.

The Gaussian limits the band, so the trapezoidal rule on a regular grid converges geometrically. The grid has its own
basis u = z T. Rows enter only through sums, so partial sums over blocks of rows can be added up. Each class is
transformed once. All pairs are then one Gram matrix of the psi_c, and all gradients one more product with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from melm.objective.potential import Gradient, Pair, rotate
from melm.objective.potential.grid import MAX_POINTS, Grid
from melm.objective.potential.tiles import Tiles
from melm.objective.potential.transform import Modes, Nonuniform, Plans, Spectrum
from melm.typing import Array


class Layout(Protocol):
    """The frequencies of the values of a transform."""

    @staticmethod
    def indices(modes: Modes) -> list[Array]:
        """Grid indices of each axis, shaped to broadcast over the held grid."""

    @staticmethod
    def multiplicity(modes: Modes) -> Array:
        """How often each held value counts in a sum over the whole grid."""


class Spectra:
    """Some classes on one grid: log ip of the pairs of the grid, and the spectra that pull gradients back."""

    def __init__(self, grid: Grid, sums: Sequence[Spectrum] | Spectrum, S: Array, layout: Layout) -> None:
        """sums: by class of the grid, the sum of share * exp(i xi . u) over its rows; S: smoothing of all classes.

        `psi` holds, by class of the grid, the characteristic function of its density estimate on the grid.
        """
        self.grid, T = grid, grid.basis
        indices = layout.indices(grid.modes)
        shape = np.broadcast_shapes(*(index.shape for index in indices))
        n_components = len(shape)
        self._frequencies = np.stack(
            [np.broadcast_to(index * step, shape).ravel() for index, step in zip(indices, grid.step, strict=True)]
        )  # (k, points)
        first, second = np.triu_indices(n_components)
        self._products = self._frequencies[first] * self._frequencies[second]
        measure = float(np.prod(grid.step / (2 * np.pi)) * abs(np.linalg.det(T)))
        self._weights = measure * np.broadcast_to(layout.multiplicity(grid.modes), shape).ravel()
        smoothing = (T.T @ S[grid.classes] @ T)[:, first, second] * np.where(first == second, -0.5, -1.0)
        self._damping = np.exp(smoothing @ self._products)  # (C, points)
        self._psi = np.asarray(sums).reshape(len(grid.classes), -1) * self._damping  # (C, points)
        self.psi = self._psi.reshape(-1, *shape)
        parts = self._psi.view(np.float64)
        self._values = (parts * np.repeat(self._weights, 2)) @ parts.T  # (C, C)
        self._first, self._second = np.searchsorted(grid.classes, np.array(grid.pairs)).T
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self._values[self._first, self._second], 0.0))
        self.log_values = dict(zip(grid.pairs, logs.tolist(), strict=True))

    def adjoints(self, weights: Mapping[Pair, float]) -> Iterator[tuple[int, Array, Spectrum]]:
        """Derivatives of the sum of weight * log ip over this grid's pairs, for some classes at a time.

        Yields the index on the grid of the first of these classes, the derivatives in their smoothing (m, k, k), and
        the spectra (k, m, ...) whose sums at a row, times the share of the row, are the derivatives in u.
        """
        T, slopes = self.grid.basis, self._slopes(weights)
        n_classes, n_points = self._psi.shape
        n_components = len(T)
        first, second = np.triu_indices(n_components)
        together = max(1, MAX_POINTS // n_points)  # classes whose spectra may be held beside psi
        for begin in range(0, n_classes, together):
            some = slice(begin, begin + together)
            parts = slopes[some] @ self._psi.view(np.float64)
            sums = (self._psi[some].view(np.float64) * parts) @ np.repeat(self._weights * self._products, 2, axis=1).T
            smoothing = np.empty((len(sums), n_components, n_components))
            smoothing[:, first, second] = smoothing[:, second, first] = sums
            combined = 1j * parts.view(np.complex128).conj()
            combined *= self._weights * self._damping[some]
            spectra = (self._frequencies[:, None] * combined).reshape(n_components, -1, *self.psi.shape[1:])
            yield begin, -T @ (smoothing / 2) @ T.T, spectra

    def _slopes(self, weights: Mapping[Pair, float]) -> Array:
        """d f / d ip (C, C), zero for pairs that are not requested; the diagonal counts twice."""
        values = self._values[self._first, self._second]
        wanted = np.array([weights.get(pair, 0.0) for pair in self.grid.pairs])
        slopes = np.zeros_like(self._values)
        slopes[self._first, self._second] = np.divide(wanted, values, out=np.zeros_like(values), where=values > 0)
        both: Array = slopes + slopes.T
        return both


class SpectralPotentials:
    """log ip of the pairs of one grid, and its gradient."""

    def __init__(self, grid: Grid, Z: list[Array], S: Array, shares: list[Array]) -> None:
        """Z: projected rows by class; S: smoothing of the classes (C, k, k); shares: of the rows in their classes."""
        self._grid, self._shares = grid, shares
        basis, shift = grid.basis * grid.step, grid.center * grid.step
        self._tiles = Tiles([Z[c] for c in grid.classes], basis, shift, grid.modes, grid.tolerance)
        self._spectra = Spectra(grid, self._tiles.forward([shares[c] for c in grid.classes]), S, Tiles)
        self.log_values = self._spectra.log_values

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip over this grid's pairs."""
        classes = self._grid.classes
        for begin, smoothing, spectra in self._spectra.adjoints(weights):
            gradient.smoothing[classes[begin : begin + len(smoothing)]] += smoothing
            for pieces, slopes_in_u in self._tiles.backward(begin, spectra):
                slopes, done = rotate(slopes_in_u, self._grid.basis.T), 0
                for place, block in pieces:
                    own = slice(done, done + block.stop - block.start)
                    gradient.rows[classes[place]][block] += self._shares[classes[place]][block, None] * slopes[own]
                    done = own.stop


def characteristic_functions(grid: Grid, rows: Sequence[Array], S: Array, shares: Sequence[Array]) -> list[Spectrum]:
    """Characteristic functions of the class densities, at the frequencies with indices -M..M on every axis."""
    plans: Plans = {}
    sums = [
        Nonuniform(rows[c], grid.basis * grid.step, grid.center * grid.step, grid.modes, grid.tolerance, plans).forward(
            shares[c]
        )
        for c in grid.classes
    ]
    return list(Spectra(grid, sums, S, Nonuniform).psi)
