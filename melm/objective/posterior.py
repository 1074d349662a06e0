"""The leave-one-out log posterior of the classes, with its gradient: the score of a classifier by their densities.

    L(V) = mean over classes c of the mean over rows j of c of log p_c(z_j),   p_c = g_c / (sum over classes b of g_b),

where g_b = f_b + background, f_b is the density estimate of class b, and the kernel of a row is left out of the density
of its class. The background, a small share of the peak of the kernels, bounds the influence of outliers. Means use the
weights of the rows. Like the divergence, L depends on the column space of V only, and takes time linear in the number
of rows if the densities are computed on a grid of frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.data.prepared_rows import PreparedRows
from melm.objective.bandwidth import silverman
from melm.objective.divergence import QUICK_SECONDS, RESOLVED, SPECTRAL_COMPONENTS, SPECTRAL_TOLERANCE, Form
from melm.objective.potential import Gradient, rotate, whitening_basis
from melm.objective.potential.grid import Grid, shared_grid
from melm.objective.potential.pairs import pairwise_cost
from melm.objective.potential.transform import Plans, Spectrum, Transform
from melm.typing import Array

Index = npt.NDArray[np.intp]

BACKGROUND = RESOLVED * SPECTRAL_TOLERANCE  # share of the peak of the kernels that a grid resolves
BLOCK_PAIRS = 2**18  # kernels held at once
GRID_PAIRS_RATIO = 3.0  # a grid's cost of densities and their adjoints, in evaluations of the divergence on it


def background(S: Array) -> float:
    """The constant that is added to the density of each class, for smoothing matrices S (C, k, k)."""
    return BACKGROUND * float(_peaks(S).mean())


class WhitenedPosterior:
    """The leave-one-out log posterior as a function of a projection of whitened coordinates (r, k)."""

    def __init__(self, prepared: PreparedRows, n_components: int, gamma: float = 1.0, form: Form = "auto") -> None:
        self.prepared = prepared
        self.n_components = n_components
        self.form = form
        self.n_evaluations = 0
        rows = prepared.rows
        widths = np.array([silverman(size, n_components, gamma) for size in rows.sizes])
        self._smoothing = widths[:, None, None] ** 2 * prepared.whitening.covariances  # (C, r, r)
        self._codes = np.repeat(np.arange(len(rows.counts)), rows.counts)
        self._own = np.arange(len(self._codes)), self._codes
        self._shares = np.concatenate(rows.shares)  # (n,), of each row in its class
        # The share of the class without the row; zero if the class has no other rows.
        others = 1 - self._shares
        self._without = np.divide(1, others, out=np.zeros_like(others), where=others > 0)
        self._pairwise_cost = pairwise_cost(rows.counts)

    def value(self, V: Array) -> float:
        """L(V), at most 0."""
        return self.value_and_gradient(V)[0]

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """L(V) and its derivative in V (r, k)."""
        self.n_evaluations += 1
        Z = self.prepared.rows.project(self.prepared.whitening.to_features @ V)
        smoothed = self._smoothing @ V  # (C, r, k)
        S = V.T @ smoothed
        gradient = Gradient.zeros(Z)
        value = self._add(Z, S, gradient)
        through_rows = self.prepared.whitening.to_features.T @ self.prepared.rows.pull_back(gradient.together)
        return value, through_rows + 2 * (smoothed @ gradient.smoothing).sum(axis=0)

    def _add(self, Z: list[Array], S: Array, gradient: Gradient) -> float:
        """L of projected rows, with its derivatives in them and in the smoothing."""
        densities = self._densities(Z, S)
        peaks, weights = _peaks(S), self._shares / len(Z)
        g = sum((part.densities() for part in densities), np.zeros((len(self._codes), len(Z))))
        g[self._own] = self._without * (g[self._own] - self._shares * peaks[self._codes])
        g = np.maximum(g, 0.0) + background(S)
        total, own = g.sum(axis=1), g[self._own]
        value = float(weights @ (np.log(own) - np.log(total)))

        slopes = np.repeat((-weights / total)[:, None], len(Z), axis=1)  # dL / dg (n, C)
        slopes[self._own] += weights / own
        through_peaks = np.full(len(Z), BACKGROUND / len(Z) * slopes.sum())
        slopes[self._own] *= self._without
        np.subtract.at(through_peaks, self._codes, slopes[self._own] * self._shares)
        gradient.smoothing -= (through_peaks * peaks / 2)[:, None, None] * np.linalg.inv(S)
        for part in densities:
            part.add_gradient(slopes, gradient)
        return value

    def _densities(self, Z: list[Array], S: Array) -> list[_Pairs | _Frequencies]:
        """The densities of all classes at all rows, as a sum of parts, in the cheaper form."""
        rows = [np.flatnonzero(self._codes == code) for code in range(len(Z))]
        everywhere = np.arange(len(self._codes))
        pairs = [_Pairs(Z, S, self._shares, [(everywhere, members) for members in rows])]
        spectral = self.form == "spectral"
        if self.form == "exact" or self.n_components > SPECTRAL_COMPONENTS:
            return [*pairs]
        if not spectral and self._pairwise_cost < QUICK_SECONDS:
            return [*pairs]
        # The grid of a pair of classes only resolves the sum of their smoothing, but here each density is needed.
        grid = shared_grid([(code, code) for code in range(len(Z))], Z, S / 2, SPECTRAL_TOLERANCE)
        if grid is None or not (spectral or GRID_PAIRS_RATIO * grid.cost_by_class < self._pairwise_cost):
            return [*pairs]
        far = [members[grid.far.get(code, [])] for code, members in enumerate(rows)]
        near = [np.setdiff1d(members, outside) for members, outside in zip(rows, far, strict=True)]
        parts: list[_Pairs | _Frequencies] = [_Frequencies(Z, S, self._shares, grid, near)]
        if any(map(len, far)):
            beyond = np.concatenate(far)
            parts.append(_Pairs(Z, S, self._shares, [(everywhere, outside) for outside in far]))
            parts.append(_Pairs(Z, S, self._shares, [(beyond, inside) for inside in near]))
        return parts


@dataclass
class _Pairs:
    """Densities summed over pairs: for each class, rows at which its density is needed and rows of the class."""

    Z: list[Array]
    S: Array
    shares: Array
    pairs: list[tuple[Index, Index]]

    def densities(self) -> Array:
        rows = np.concatenate(self.Z)
        result = np.zeros((len(rows), len(self.Z)))
        for code in range(len(self.Z)):
            for asked, K in self._kernels(code, rows):
                result[asked, code] = K.sum(axis=1)
        return result

    def add_gradient(self, slopes: Array, gradient: Gradient) -> None:
        """Add the derivatives of sum(slopes * densities)."""
        rows = np.concatenate(self.Z)
        pulls = np.zeros_like(rows)
        for code, (_, members) in enumerate(self.pairs):
            basis = whitening_basis(self.S[code])
            precision, sources = basis @ basis.T, rows[members]
            moment, total = np.zeros_like(precision), 0.0
            for asked, K in self._kernels(code, rows):
                K *= slopes[asked, code, None]
                ahead = K.sum(axis=1)[:, None] * rows[asked] - K @ sources  # sum over sources of W (z_i - z_j)
                back = K.sum(axis=0)[:, None] * sources - K.T @ rows[asked]
                pulls[asked] -= ahead @ precision
                pulls[members] -= back @ precision
                moment += rows[asked].T @ ahead + sources.T @ back
                total += float(K.sum())
            gradient.smoothing[code] += (precision @ moment @ precision - total * precision) / 2
        ends = np.cumsum([len(z) for z in self.Z])[:-1]
        for own, pull in zip(gradient.rows, np.split(pulls, ends), strict=True):
            own += pull

    def _kernels(self, code: int, rows: Array) -> Iterator[tuple[Index, Array]]:
        """Blocks of rows i at which a class density is needed, with share_j N(z_i - z_j; 0, S) for its rows j."""
        asked, members = self.pairs[code]
        if not len(members):
            return
        basis = whitening_basis(self.S[code])
        U = rows @ basis
        sources = U[members] - U[members].mean(axis=0)
        U -= U[members].mean(axis=0)
        squares = np.square(sources).sum(axis=1)
        scale = np.log(_peaks(self.S[code : code + 1]) * self.shares[members])
        size = max(1, BLOCK_PAIRS // len(members))
        for begin in range(0, len(asked), size):
            block = asked[begin : begin + size]
            K = U[block] @ sources.T
            K -= (np.square(U[block]).sum(axis=1) / 2)[:, None]
            K -= squares / 2
            np.minimum(K, 0.0, out=K)
            K += scale
            yield block, np.exp(K, out=K)


class _Frequencies:
    """Densities at the rows on a grid, of these rows: by transforms of one class after the other."""

    def __init__(self, Z: list[Array], S: Array, shares: Array, grid: Grid, near: list[Index]) -> None:
        self._near, self._shares, self._basis = near, shares, grid.basis
        T, begins = grid.basis, np.cumsum([0, *map(len, Z)])
        self._begins = begins
        indices = grid.transform.indices(grid.modes)
        shape = grid.shape
        steps = zip(indices, grid.step, strict=True)
        self._frequencies = np.stack([np.broadcast_to(index * step, shape) for index, step in steps])  # (k, ...)
        measure = float(np.prod(grid.step / (2 * np.pi)) * abs(np.linalg.det(T)))
        self._measure = measure * np.broadcast_to(grid.transform.multiplicity(grid.modes), shape)
        smoothing = T.T @ S @ T
        self._damping = np.exp(
            -0.5 * np.einsum("k...,ckl,l...->c...", self._frequencies, smoothing, self._frequencies, optimize=True)
        )
        plans: Plans = {}
        self._transforms: list[Transform] = [
            grid.of_rows(Z[code][members - begins[code]], plans) for code, members in enumerate(near)
        ]
        self._spectra: list[Spectrum] = [
            transform.forward(shares[members]) * damping
            for transform, members, damping in zip(self._transforms, near, self._damping, strict=True)
        ]  # of the densities

    def densities(self) -> Array:
        result = np.zeros((len(self._shares), len(self._near)))
        spectra = np.stack([self._measure * spectrum.conj() for spectrum in self._spectra])
        for members, transform in zip(self._near, self._transforms, strict=True):
            for block, values in transform.backward(spectra):
                result[members[block]] = values
        return result

    def add_gradient(self, slopes: Array, gradient: Gradient) -> None:
        """Add the derivatives of sum(slopes * densities)."""
        n_components = len(self._basis)
        for code, (spectrum, damping) in enumerate(zip(self._spectra, self._damping, strict=True)):
            weighted = zip(self._transforms, self._near, strict=True)
            adjoint = sum(
                (transform.forward(np.ascontiguousarray(slopes[members, code])) for transform, members in weighted),
                np.zeros_like(spectrum),
            )
            moments = (self._measure * spectrum.conj() * adjoint).real
            second = np.einsum("k...,l...,...->kl", self._frequencies, self._frequencies, moments, optimize=True)
            gradient.smoothing[code] -= self._basis @ (second / 2) @ self._basis.T
            asked = 1j * self._measure * spectrum.conj() * self._frequencies
            given = 1j * self._measure * damping * adjoint.conj() * self._frequencies
            for own, (transform, members) in enumerate(zip(self._transforms, self._near, strict=True)):
                places = members - self._begins[own]
                spectra = np.concatenate([asked, given]) if own == code else asked
                for block, values in transform.backward(spectra):
                    pull = values[:, :n_components] * slopes[members[block], code, None]
                    if own == code:
                        pull = pull + values[:, n_components:] * self._shares[members[block], None]
                    gradient.rows[own][places[block]] += rotate(pull, self._basis.T)


def _peaks(S: Array) -> Array:
    """N(0; 0, S) of each class (C,)."""
    peaks: Array = (2 * np.pi) ** (-S.shape[1] / 2) * np.exp(-np.linalg.slogdet(S)[1] / 2)
    return peaks
