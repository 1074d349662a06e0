"""The spectral form: potentials of several classes on one grid of frequencies, in time linear in the rows.

By Plancherel, with the characteristic function phi_c of a projected class and psi_c(xi) = phi_c(xi) exp(-xi^T S_c xi
/ 2),

    ip_ab = (2 pi)^-k * Integral of psi_a(xi) conj psi_b(xi) d xi.

The Gaussian limits the band, so the trapezoidal rule on a regular grid converges geometrically. The grid lives in a
basis u = z T of its own; its rows enter only through sums, so partial sums over blocks of rows add up. Each class is
transformed once; all pairs are then one Gram matrix of the psi_c, and all gradients one more product with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from melm.objective.potential import Gradient, Pair, rotate
from melm.objective.potential.grid import MAX_POINTS, Grid
from melm.objective.potential.transform import Plans, Spectrum
from melm.typing import Array


class Spectra:
    """What some classes are on one grid: log ip of the grid's pairs, and the spectra that pull gradients back."""

    def __init__(self, grid: Grid, sums: Sequence[Spectrum], S: Array) -> None:
        """sums: by class of the grid, the sum of share * exp(i xi . u) over its rows; S: smoothing of all classes.

        `psi` holds, by class of the grid, the characteristic function of its density estimate on the grid.
        """
        self.grid, T = grid, grid.basis
        indices = grid.transform.indices(grid.modes)
        shape = grid.shape
        n_components = len(shape)
        self._frequencies = np.stack(
            [np.broadcast_to(index * step, shape).ravel() for index, step in zip(indices, grid.step, strict=True)]
        )  # (k, points)
        self._products = (self._frequencies[:, None] * self._frequencies).reshape(n_components**2, -1)
        measure = float(np.prod(grid.step / (2 * np.pi)) * abs(np.linalg.det(T)))
        self._weights = measure * np.broadcast_to(grid.transform.multiplicity(grid.modes), shape).ravel()
        smoothing = (T.T @ S[grid.classes] @ T).reshape(-1, n_components**2)
        self._damping = np.exp(-0.5 * (smoothing @ self._products))  # (C, points)
        self._psi = np.stack([spectrum.ravel() for spectrum in sums]) * self._damping  # (C, points)
        self.psi = self._psi.reshape(-1, *shape)
        parts = self._psi.view(np.float64)
        self._values = (parts * np.repeat(self._weights, 2)) @ parts.T  # (C, C)
        places = {c: place for place, c in enumerate(grid.classes)}
        self._first, self._second = np.array([(places[a], places[b]) for a, b in grid.pairs]).T
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self._values[self._first, self._second], 0.0))
        self.log_values = dict(zip(grid.pairs, logs.tolist(), strict=True))

    def adjoints(self, weights: Mapping[Pair, float]) -> Iterator[tuple[int, Array, Spectrum]]:
        """Derivatives of the sum of weight * log ip over this grid's pairs, by place of the class on the grid.

        The derivative in its smoothing (k, k), and the spectra (k, ...) whose sums at a row, each row by its share, are
        the derivatives in u; classes that no weight touches are left out.
        """
        T, slopes = self.grid.basis, self._slopes(weights)
        n_classes, n_points = self._psi.shape
        n_components = len(T)
        together = max(1, MAX_POINTS // n_points)  # classes whose spectra may be held beside psi
        for begin in range(0, n_classes, together):
            some = slice(begin, begin + together)
            parts = slopes[some] @ self._psi.view(np.float64)
            combined = self._weights * parts.view(np.complex128).conj()
            moments = (self._psi[some] * combined).real @ self._products.T
            smoothing = moments.reshape(-1, n_components, n_components)
            combined *= self._damping[some]
            for place, spectrum in enumerate(combined, begin):
                if slopes[place].any():
                    spectra = (1j * self._frequencies * spectrum).reshape(-1, *self.psi.shape[1:])
                    yield place, -T @ (smoothing[place - begin] / 2) @ T.T, spectra

    def _slopes(self, weights: Mapping[Pair, float]) -> Array:
        """d f / d ip (C, C), zero for pairs that are not asked for; a class with itself counts for both its places."""
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
        plans: Plans = {}
        self._transforms = [grid.of_rows(Z[c], plans) for c in grid.classes]
        sums = [t.forward(shares[c]) for t, c in zip(self._transforms, grid.classes, strict=True)]
        self._spectra = Spectra(grid, sums, S)
        self.psi, self.log_values = self._spectra.psi, self._spectra.log_values

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip over this grid's pairs."""
        for place, smoothing, spectra in self._spectra.adjoints(weights):
            c = self._grid.classes[place]
            gradient.smoothing[c] += smoothing
            for block, slopes_in_u in self._transforms[place].backward(spectra):
                gradient.rows[c][block] += self._shares[c][block, None] * rotate(slopes_in_u, self._grid.basis.T)
