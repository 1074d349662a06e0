"""Kernel density estimates of the projected classes, and the classifier by these densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from melm.density.bulk import MAX_POINTS, MAX_POINTS_IN_ALL, Bulk
from melm.density.kernels import Kernels
from melm.density.together import Together
from melm.typing import Array, ShouldStop, never

FEW_PAIRS = 2**14  # rows times queries up to which all classes are summed at once
EXACT_PAIRS = 2**24  # rows times queries up to which kernels are summed one by one: about a tenth of a second
COPIES = 4  # of the rows of a class: as given, whitened, together with other classes, and in a tree
GRID_COMPONENTS = 3  # beyond, grids grow faster than pairs


@dataclass(frozen=True)
class ClassDensities:
    """f_c(z) = mean over the class's rows z_i of N(z - z_i; 0, S_c), with class priors.

    With few rows and few queries, kernels are summed exactly. Otherwise the bulk of each density comes from a grid of
    frequencies, and the tails, which a grid does not resolve, from the rows near them.
    """

    rows: list[Array]  # C of (n_c, k)
    smoothing: Array  # (C, k, k)
    priors: Array  # (C,)
    weights: list[Array] | None = None  # C of (n_c,), each adding up to 1; None for equal weights
    narrowing: float = 1.0  # of all kernels, where tails are heavy

    def log_densities(self, Z: Array, should_stop: ShouldStop = never) -> Array:
        """log f_c at each row of Z: (n, C). Raises `Stopped` soon after `should_stop` returns True."""
        if len(Z) * sum(map(len, self.rows)) <= FEW_PAIRS:
            return self._together.log_densities(Z)
        return np.column_stack([estimate.log_density(Z, should_stop) for estimate in self._estimates])

    def log_posteriors(self, Z: Array, should_stop: ShouldStop = never) -> Array:
        """log P(c | z): (n, C)."""
        return self._posteriors(self.log_densities(Z, should_stop))

    def most_probable(self, Z: Array, should_stop: ShouldStop = never) -> npt.NDArray[np.intp]:
        """The code of the most probable class at each row of Z: (n,)."""
        codes: npt.NDArray[np.intp] = (self.log_densities(Z, should_stop) + self._log_priors).argmax(axis=1)
        return codes

    def log_density(self, Z: Array, should_stop: ShouldStop = never) -> Array:
        """log of the mixture of all classes at each row of Z: how far a row is from all training data (n,)."""
        mixture: Array = np.logaddexp.reduce(self.log_densities(Z, should_stop) + self._log_priors, axis=1)
        return mixture

    def thin(self, code: int, n_rows: int) -> Array:
        """At most n_rows rows of a class, taken evenly by their weight."""
        rows, n_taken = self.rows[code], min(len(self.rows[code]), max(n_rows, 1))
        if self.weights is None:
            taken: Array = rows[np.linspace(0, len(rows) - 1, n_taken).astype(np.intp)]
            return taken
        share = np.cumsum(self.weights[code])
        taken = rows[np.searchsorted(share, share[-1] * (np.arange(n_taken) + 0.5) / n_taken)]
        return taken

    def leave_one_out(self, members: list[npt.NDArray[np.intp]]) -> tuple[npt.NDArray[np.intp], Array]:
        """True class and leave-one-out log posteriors of chosen training rows.

        `members` are indices into the rows of each class.
        """
        return self.leave_out(
            [rows[chosen] for rows, chosen in zip(self.rows, members, strict=True)],
            [
                np.full(len(chosen), 1 / len(self.rows[code])) if self.weights is None else self.weights[code][chosen]
                for code, chosen in enumerate(members)
            ],
        )

    def leave_out(self, rows: list[Array], weights: list[Array]) -> tuple[npt.NDArray[np.intp], Array]:
        """The same for rows (C of (m_c, k)) that are among those of the densities, with these weights."""
        codes, joined = [], []
        for code, (Z, weight) in enumerate(zip(rows, weights, strict=True)):
            logs, S = self.log_densities(Z), self.smoothing[code]
            # log((f(z) - w N(0; S)) / (1 - w)), the density without the row's own kernel, its whole weight
            own = -np.log(2 * np.pi) * S.shape[0] / 2 - np.linalg.slogdet(S)[1] / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.exp(np.minimum(own + np.log(weight) - logs[:, code], 0.0))
                logs[:, code] += np.log1p(-share) - (np.log1p(-weight) if len(self.rows[code]) > 1 else 0.0)
            joined.append(logs)
            codes.append(np.full(len(Z), code))
        return np.concatenate(codes), self._posteriors(np.concatenate(joined))

    @property
    def n_bytes(self) -> int:
        """The current memory of the densities, with all that was prepared for predictions."""
        own = int(sum(rows.nbytes for rows in self.rows))
        estimates: list[_Estimate] = self.__dict__.get("_estimates", [])
        grids: list[Bulk | None] = [estimate.__dict__.get("_bulk") for estimate in estimates]
        return own * (COPIES if estimates else 1) + sum(grid.spectrum.nbytes for grid in grids if grid is not None)

    @cached_property
    def _estimates(self) -> list[_Estimate]:
        """Prepared once, because this costs more than the density of a single row."""
        weights: Sequence[Array | None] = self.weights or [None] * len(self.rows)
        return [
            _Estimate(Kernels.prepare(rows, S, share), min(MAX_POINTS, MAX_POINTS_IN_ALL // len(self.rows)))
            for rows, S, share in zip(self.rows, self.smoothing, weights, strict=True)
        ]

    @cached_property
    def _together(self) -> Together:
        return Together.prepare([estimate.kernels for estimate in self._estimates])

    @cached_property
    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.priors)
            return logs

    def _posteriors(self, log_densities: Array) -> Array:
        joint = log_densities + self._log_priors
        posteriors: Array = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return posteriors


@dataclass(frozen=True)
class _Estimate:
    """The density of one class, computed in the cheaper way."""

    kernels: Kernels
    max_points: int  # of its grid

    def log_density(self, Z: Array, should_stop: ShouldStop) -> Array:
        Q = Z @ self.kernels.basis
        n_rows, n_components = self.kernels.rows.shape
        if len(Q) * n_rows <= EXACT_PAIRS or n_components > GRID_COMPONENTS:
            return self.kernels.log_density(Q, should_stop)
        density = np.zeros(len(Q)) if self._bulk is None else self._bulk.density(Q)
        tail = density == 0
        with np.errstate(divide="ignore"):
            result: Array = np.log(density) + np.linalg.slogdet(self.kernels.basis)[1]
        if tail.any():
            result[tail] = self._tail(Q[tail], should_stop)
        return result

    def _tail(self, Q: Array, should_stop: ShouldStop) -> Array:
        few = len(Q) * len(self.kernels.rows) <= EXACT_PAIRS
        of_all, of_near = self.kernels.log_density, self.kernels.log_density_by_near_rows
        return of_all(Q, should_stop) if few else of_near(Q, should_stop)

    @cached_property
    def _bulk(self) -> Bulk | None:
        return Bulk.prepare(self.kernels, self.max_points)
