"""Classes with a few far rows: the bulk is summed on a grid, every pair with a far row exactly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from melm.objective.potential import Gradient, Pair, Potentials
from melm.objective.potential.exact import ExactPotential
from melm.objective.potential.grid import Grid
from melm.objective.potential.spectral import SpectralPotentials
from melm.typing import Array


def spectral_potentials(grid: Grid, Z: list[Array], S: Array, shares: list[Array]) -> Potentials:
    """The potentials of a grid's pairs, far rows included."""
    if any(len(rows) for rows in grid.far.values()):
        return SplitPotentials(grid, Z, S, shares)
    return SpectralPotentials(grid, Z, S, shares)


class SplitPotentials:
    """ip = bulk with bulk, on the grid, + far with all + bulk with far, over pairs."""

    def __init__(self, grid: Grid, Z: list[Array], S: Array, shares: list[Array]) -> None:
        self._near = {c: np.delete(np.arange(len(Z[c])), far) for c, far in grid.far.items()}
        self._bulk_rows = [Z[c][self._near[c]] if c in self._near else Z[c] for c in range(len(Z))]
        bulk_shares = [shares[c][self._near[c]] if c in self._near else shares[c] for c in range(len(Z))]
        self._bulk = SpectralPotentials(grid, self._bulk_rows, S, bulk_shares)
        self._exact: dict[Pair, list[ExactPotential]] = {}
        self._shares: dict[Pair, list[float]] = {}  # of the bulk and of each exact part in the potential
        self.log_values: dict[Pair, float] = {}
        for a, b in grid.pairs:
            exact = []
            if len(grid.far[a]):
                exact.append(ExactPotential((a, b), Z, S, shares, rows=(grid.far[a], slice(None))))
            if len(grid.far[b]):
                exact.append(ExactPotential((a, b), Z, S, shares, rows=(self._near[a], grid.far[b])))
            logs = [self._bulk.log_values[a, b], *(part.log_values[a, b] for part in exact)]
            self._exact[a, b] = exact
            self.log_values[a, b] = float(np.logaddexp.reduce(logs))
            self._shares[a, b] = np.exp(np.array(logs) - self.log_values[a, b]).tolist()

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip, each part by its share of the potential."""
        bulk = Gradient.zeros(self._bulk_rows)
        self._bulk.add_gradient({pair: weight * self._shares[pair][0] for pair, weight in weights.items()}, bulk)
        for c, near in self._near.items():
            gradient.rows[c][near] += bulk.rows[c]
        gradient.smoothing += bulk.smoothing
        for pair, weight in weights.items():
            for part, share in zip(self._exact[pair], self._shares[pair][1:], strict=True):
                part.add_gradient({pair: weight * share}, gradient)
