"""The divergence of rows that are beyond memory: two passes over their blocks for a value with its gradient.

The first pass sums the spectra of the classes, the second pulls the gradient back. Only grids are transferred between
them, so memory does not depend on the number of rows. The box of a grid follows from the sample. The few rows at its
border and outside are gathered, and pairs of these with a row outside are summed exactly. All other pairs with a row
outside are too far apart to matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from melm.data.prepared_rows import Everything, PreparedRows
from melm.data.row_blocks import RowBlock
from melm.objective.bandwidth import silverman
from melm.objective.divergence import (
    RESOLVED,
    SPECTRAL_COMPONENTS,
    SPECTRAL_TOLERANCE,
    TIGHTEST_TOLERANCE,
    Form,
    WhitenedDivergence,
    divergence_of,
    divergence_slopes,
)
from melm.objective.potential import Gradient, Pair, rotate
from melm.objective.potential.exact import ExactPotential
from melm.objective.potential.grid import Grid, pair_grid, shared_grid
from melm.objective.potential.spectral import Spectra
from melm.objective.potential.transform import Plans, Spectrum
from melm.typing import Array


def divergence_on(
    prepared: PreparedRows, n_components: int, gamma: float, form: Form, spectral_tolerance: float = SPECTRAL_TOLERANCE
) -> WhitenedDivergence | BlockDivergence:
    """The divergence on all prepared rows, wherever they are. For rows beyond memory it is always accurate."""
    if prepared.everything is None:
        return WhitenedDivergence(prepared, n_components, gamma, form, spectral_tolerance)
    return BlockDivergence(prepared, prepared.everything, n_components, gamma, form)


class BlockDivergence:
    """The divergence of all rows as a function of a projection of whitened coordinates (r, k)."""

    def __init__(
        self, prepared: PreparedRows, everything: Everything, n_components: int, gamma: float = 1.0, form: Form = "auto"
    ) -> None:
        if n_components > SPECTRAL_COMPONENTS or form == "exact":
            raise ValueError(f"Rows beyond memory take at most {SPECTRAL_COMPONENTS} components, and no form='exact'.")
        self.prepared = prepared
        self.n_components = n_components
        self.n_evaluations = 0
        self._blocks, counts = everything.blocks, np.array(everything.counts, dtype=np.float64)
        self._shares = 1 / counts
        widths = np.array([silverman(count, n_components, gamma) for count in counts.tolist()])
        self._smoothing = widths[:, None, None] ** 2 * prepared.whitening.covariances  # (C, r, r)
        self._pairs = list(combinations_with_replacement(range(len(counts)), 2))
        self._on_sample = WhitenedDivergence(prepared, n_components, gamma, form)

    def log_potentials(self, V: Array) -> dict[Pair, float]:
        """log ip of every pair of classes a <= b."""
        found = self._evaluate(V)
        return self._on_sample.log_potentials(V) if found is None else found.log_values

    def value(self, V: Array) -> float:
        """D(V)."""
        return divergence_of(self.log_potentials(V))

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """D(V) and its derivative in V (r, k)."""
        found = self._evaluate(V)
        if found is None:
            return self._on_sample.value_and_gradient(V)
        weights = divergence_slopes(found.log_values)
        gradient = Gradient.zeros(found.border)
        adjoints = [part.add_gradient(weights, gradient) for part in found.parts]
        rows, whitening = self.prepared.rows, self.prepared.whitening
        pulled = self._blocks.total(pull_back, found.projection, rows.center, found.grids, adjoints, self._shares)
        for members, slopes in zip(found.border_rows, gradient.rows, strict=True):
            pulled += (members - rows.center).T @ slopes
        inner = whitening.to_features.T @ (pulled[rows.varying] / rows.scale[rows.varying, None])
        return divergence_of(found.log_values), inner + 2 * (found.smoothed @ gradient.smoothing).sum(axis=0)

    def _evaluate(self, V: Array) -> _Found | None:
        """The result of the first pass; None if the classes are too far apart for any grid to resolve."""
        self.n_evaluations += 1
        smoothed = self._smoothing @ V
        S = V.T @ smoothed
        F = self.prepared.whitening.to_features @ V
        Z = self.prepared.rows.project(F)
        projection = self.prepared.rows.to_features(F)
        for tolerance in (SPECTRAL_TOLERANCE, TIGHTEST_TOLERANCE):
            grids = self._grids(Z, S, tolerance)
            if grids is None:
                return None
            sums = self._blocks.total(sum_up, projection, self.prepared.rows.center, grids)
            border_rows = [sums.border[sums.codes == code] for code in range(len(S))]
            border = [(members - self.prepared.rows.center) @ projection for members in border_rows]
            parts = [
                _Part(grid, spectra, border, S, self._shares) for grid, spectra in zip(grids, sums.spectra, strict=True)
            ]
            logs = {pair: value for part in parts for pair, value in part.log_values.items()}
            found = _Found(projection, smoothed, grids, parts, border_rows, border, {p: logs[p] for p in self._pairs})
            if np.exp(-divergence_of(found.log_values) / 2) > RESOLVED * tolerance:
                return found
        return None

    def _grids(self, Z: list[Array], S: Array, tolerance: float) -> list[Grid] | None:
        """One grid for all classes, or one for each pair if these are smaller; None if both are too large.

        They depend on the sample only, so that no pass is needed to choose them.
        """
        shared = shared_grid(self._pairs, Z, S, tolerance)
        if shared is not None and shared.excess <= len(Z):
            return [shared]
        separate = [pair_grid(pair, Z, S, tolerance) for pair in self._pairs]
        there = [grid for grid in separate if grid is not None]
        if len(there) < len(separate):
            return None if shared is None else [shared]
        return (
            [shared]
            if shared is not None and shared.cost_by_class <= sum(grid.cost_by_class for grid in there)
            else there
        )


@dataclass(frozen=True)
class _Found:
    """The result of the first pass at one projection."""

    projection: Array  # (d, k)
    smoothed: Array  # (C, r, k)
    grids: list[Grid]
    parts: list[_Part]
    border_rows: list[npt.NDArray[Any]]  # C of (m_c, d)
    border: list[Array]  # C of (m_c, k)
    log_values: dict[Pair, float]


class _Part:
    """The potentials of the pairs of one grid: by the grid, and by exact sums over pairs with a row outside of it."""

    def __init__(self, grid: Grid, sums: Sequence[Spectrum], border: list[Array], S: Array, shares: Array) -> None:
        self._grid = grid
        spectra = [share * own for share, own in zip(shares[grid.classes], sums, strict=True)]
        self._on_grid = Spectra(grid, spectra, S, grid.transform)
        outside = [grid.is_outside(Z) for Z in border]
        weights = [np.full(len(Z), share) for Z, share in zip(border, shares, strict=True)]
        self._exact: dict[Pair, list[ExactPotential]] = {}
        self._shares: dict[Pair, list[float]] = {}  # of the grid and of each exact part in the potential
        self.log_values: dict[Pair, float] = {}
        for a, b in grid.pairs:
            far_a, far_b = np.flatnonzero(outside[a]), np.flatnonzero(outside[b])
            near_a = np.flatnonzero(~outside[a])
            chosen = [(far_a, np.arange(len(border[b]))), (near_a, far_b)]
            exact = [ExactPotential((a, b), border, S, weights, rows=rows) for rows in chosen if all(map(len, rows))]
            logs = [self._on_grid.log_values[a, b], *(part.log_values[a, b] for part in exact)]
            self._exact[a, b] = exact
            self.log_values[a, b] = float(np.logaddexp.reduce(logs))
            with np.errstate(invalid="ignore"):  # the shares of a potential of zero are not used
                self._shares[a, b] = np.exp(np.array(logs) - self.log_values[a, b]).tolist()

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> list[tuple[int, Spectrum]]:
        """Add the gradient of the rows at the border. For the others, return the code and the spectra of each class."""
        on_grid = {pair: weights[pair] * self._shares[pair][0] for pair in self._grid.pairs}
        adjoints = []
        for begin, smoothing, spectra in self._on_grid.adjoints(on_grid):
            codes = self._grid.classes[begin : begin + len(smoothing)]
            gradient.smoothing[codes] += smoothing
            adjoints += [(code, spectra[:, place]) for place, code in enumerate(codes)]
        for pair, parts in self._exact.items():
            for part, share in zip(parts, self._shares[pair][1:], strict=True):
                part.add_gradient({pair: weights[pair] * share}, gradient)
        return adjoints


@dataclass(frozen=True)
class Sums:
    """Sums over some rows: their spectra by grid and class, and the rows that lie at a border or outside."""

    spectra: list[list[Spectrum]]
    border: npt.NDArray[Any]  # (m, d)
    codes: npt.NDArray[np.int32]  # (m,)

    def __add__(self, other: Self) -> Sums:
        return Sums(
            [
                [a + b for a, b in zip(mine, its, strict=True)]
                for mine, its in zip(self.spectra, other.spectra, strict=True)
            ],
            np.concatenate([self.border, other.border]),
            np.concatenate([self.codes, other.codes]),
        )


def sum_up(block: RowBlock, projection: Array, center: Array, grids: Sequence[Grid]) -> Sums:
    """The first pass over one block: sums of exp(i xi . u) over the rows on each grid, with weight one for each row."""
    Z = (block.X - center) @ projection
    at_border = np.zeros(len(Z), dtype=bool)
    spectra = []
    for grid in grids:
        plans: Plans = {}
        outside = grid.is_outside(Z)
        at_border |= grid.is_at_border(Z) & np.isin(block.codes, grid.classes)
        own = []
        for code in grid.classes:
            rows = Z[(block.codes == code) & ~outside]
            of_class = grid.of_rows(rows, plans).forward(np.ones(len(rows))) if len(rows) else np.zeros(grid.shape)
            own.append(of_class.astype(np.complex128, copy=False))
        spectra.append(own)
    return Sums(spectra, block.X[at_border], block.codes[at_border])


def pull_back(
    block: RowBlock,
    projection: Array,
    center: Array,
    grids: Sequence[Grid],
    adjoints: Sequence[Sequence[tuple[int, Spectrum]]],
    shares: Array,
) -> Array:
    """The second pass over one block: (rows - center)^T times the derivatives in the projected rows (d, k)."""
    centered = block.X - center
    Z = centered @ projection
    slopes = np.zeros_like(Z)
    for grid, by_class in zip(grids, adjoints, strict=True):
        plans: Plans = {}
        inside = ~grid.is_outside(Z)
        for code, spectra in by_class:
            members = np.flatnonzero((block.codes == code) & inside)
            of_class = grid.of_rows(Z[members], plans).backward(spectra) if len(members) else ()
            for some, in_u in of_class:
                slopes[members[some]] += shares[code] * rotate(in_u, grid.basis.T)
    pulled: Array = centered.T @ slopes
    return pulled
