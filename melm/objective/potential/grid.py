"""Grids of frequencies: the choice of their basis, step and size, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks
from melm.objective.potential import Pair, rotate, whitening_basis
from melm.objective.potential.exact import exact_cost
from melm.objective.potential.transform import Modes, Nonuniform, Plans, Separable, tile
from melm.typing import Array

RowIndex: TypeAlias = npt.NDArray[np.intp]

MAX_POINTS = 2**22  # of one grid: 64 MiB a spectrum
TRIMMED_ROWS = 2000  # with fewer rows, pairs are cheap, and far rows need no special treatment
TOGETHER = 2**16  # rows of several classes that may be copied, to be processed in one call
TRIMS = (1e-5, 1e-4, 1e-3)  # shares of rows at each end of an axis outside which a row may count as far


@dataclass(frozen=True)
class Grid:
    """A grid of frequencies on which the potentials of some pairs of classes are summed."""

    pairs: tuple[Pair, ...]
    classes: list[int]  # those of the pairs
    basis: Array  # (k, k): u = z @ basis
    center: Array  # (k,), in u
    step: Array  # (k,), of the frequencies
    reach: Array  # (k,), distance up to which rows matter, and between the rows and their periodic images
    modes: Modes
    tolerance: float
    transform: type[Separable] | type[Nonuniform]  # for one class after the other
    far: dict[int, RowIndex]  # indices of the rows of a class that lie outside, to be treated exactly
    cost: float  # estimated seconds, all classes at once
    cost_by_class: float  # and one after the other
    excess: float  # how many times more points than classes of one common smoothing would need

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values of a transform."""
        return tuple(max(index.shape) for index in self.transform.indices(self.modes))

    def of_rows(self, Z: Array, plans: Plans) -> Separable | Nonuniform:
        """The transform between rows Z (n, k) and this grid."""
        return self.transform(Z, self.basis * self.step, self.center * self.step, self.modes, self.tolerance, plans)

    def is_outside(self, Z: Array) -> npt.NDArray[np.bool_]:
        """Whether each row (n, k) lies outside the box that this grid covers."""
        return self._exceeds(Z, self._half_width)

    def is_at_border(self, Z: Array) -> npt.NDArray[np.bool_]:
        """Whether each row (n, k) lies outside the box, or in it within reach of rows outside."""
        return self._exceeds(Z, self._half_width - self.reach)

    @property
    def _half_width(self) -> Array:
        return np.pi / self.step - self.reach / 2

    def _exceeds(self, Z: Array, half_width: Array) -> npt.NDArray[np.bool_]:
        """Whether each row is farther from the center of the box than this, on any axis."""
        return np.asarray((np.abs(rotate(Z, self.basis) - self.center) > half_width).any(axis=1))


def shared_grid(pairs: Sequence[Pair], Z: list[Array], S: Array, tolerance: float) -> Grid | None:
    """One grid for all classes, in a basis that makes their mean smoothing the identity and the tightest diagonal."""
    basis = whitening_basis(2 * S.mean(axis=0))
    smoothing = basis.T @ S @ basis  # (C, k, k)
    spreads, axes = np.linalg.eigh(smoothing)
    basis = basis @ axes[spreads[:, 0].argmin()]
    smoothing = 2 * (basis.T @ S @ basis)
    finest = np.sqrt(np.diagonal(np.linalg.inv(smoothing), axis1=1, axis2=2).max(axis=0))
    widest = np.sqrt(np.diagonal(smoothing, axis1=1, axis2=2).max(axis=0))
    return _grid(pairs, basis, finest, widest, Z, tolerance)


def pair_grid(pair: Pair, Z: list[Array], S: Array, tolerance: float) -> Grid | None:
    """A grid for one pair, in the basis that makes its smoothing the identity, so that it is no finer than needed."""
    basis = whitening_basis(S[pair[0]] + S[pair[1]])
    ones = np.ones(len(basis))
    return _grid([pair], basis, ones, ones, Z, tolerance)


def density_grid(rows: Array, tolerance: float) -> Grid | None:
    """A grid for the density of one class whose kernels are unit Gaussians, at queries in reach of its rows."""
    ones = np.ones(rows.shape[1])
    return _grid([(0, 0)], np.eye(len(ones)), ones, 2 * ones, [rows], tolerance)


def _grid(
    pairs: Sequence[Pair], basis: Array, finest: Array, widest: Array, Z: list[Array], tolerance: float
) -> Grid | None:
    """The cheapest grid that is accurate to the tolerance, or None where that is too large.

    The Gaussian ends at frequency reach * finest, and periodic images stay reach * widest apart. Where a few far rows
    stretch the grid, it covers the bulk only and leaves every pair with a far row to be summed exactly.
    """
    classes = sorted({c for pair in pairs for c in pair})
    n_rows = sum(len(Z[c]) for c in classes)
    reach = np.sqrt(-2 * np.log(tolerance))

    def cover(low: Array, high: Array, far: dict[int, RowIndex]) -> Grid | None:
        step = 2 * np.pi / (high - low + reach * widest)
        size = np.ceil(reach * finest / step)
        if np.prod(2 * size + 1) > MAX_POINTS:
            return None
        modes = tuple(int(m) for m in size)
        separable = separable_cost(n_rows, modes, len(classes))
        nonuniform = nonuniform_cost(n_rows, modes, len(classes), tolerance)
        cheapest: type[Separable] | type[Nonuniform] = Separable if separable < nonuniform else Nonuniform
        n_far = sum(len(rows) for rows in far.values())
        of_far = exact_cost(2 * n_far, n_rows, same=False) * bool(n_far)
        return Grid(
            pairs=tuple(pairs),
            classes=classes,
            basis=basis,
            center=(low + high) / 2,
            step=step,
            reach=reach * widest,
            modes=modes,
            tolerance=tolerance,
            transform=cheapest,
            far=far,
            cost=tiles_cost(n_rows, modes, len(classes), tolerance) + of_far,
            cost_by_class=min(separable, nonuniform) + of_far,
            excess=float(np.prod(finest * widest)),
        )

    whole = cover(*_ends([Z[c] for c in classes], basis), {})
    if n_rows < TRIMMED_ROWS or (whole and np.prod(2 * np.array(whole.modes) + 1) <= n_rows):
        return whole
    candidates = [whole]
    U = {c: rotate(Z[c], basis) for c in classes}
    for share in TRIMS:
        low, high = _bulk(list(U.values()), share)
        far = {c: np.flatnonzero(((u < low) | (u > high)).any(axis=1)) for c, u in U.items()}
        candidates.append(cover(low, high, far))
    return min((grid for grid in candidates if grid), key=lambda grid: grid.cost, default=None)


def _ends(Z: Sequence[Array], basis: Array) -> tuple[Array, Array]:
    """The least and the largest values of rows on the axes of the basis."""
    if sum(map(len, Z)) <= TOGETHER:
        Z = [np.concatenate(Z)]
    rotated = (rotate(z[block], basis) for z in Z for block in blocks(len(z), 8 * len(basis)))
    ends = np.array([(u.min(axis=0), u.max(axis=0)) for u in rotated])
    return ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)


def _bulk(U: list[Array], share: float) -> tuple[Array, Array]:
    """A box around all but a share of the rows at each end of each axis, widened by half as a margin."""
    ends = []
    for axis in range(U[0].shape[1]):
        values = np.concatenate([u[:, axis] for u in U])
        first = int(share * len(values))
        ordered = np.partition(values, [first, len(values) - 1 - first])
        ends.append((ordered[first], ordered[len(values) - 1 - first]))
    low, high = np.array(ends).T
    return low - (high - low) / 2, high + (high - low) / 2


def tiles_cost(n_rows: int, modes: Modes, n_classes: int, tolerance: float) -> float:
    """Seconds of value and gradient by tiles: overhead of calls, lattices, and spreading over a kernel."""
    width, n_components = np.ceil(-np.log10(tolerance)) + 1, len(modes)
    lattices = n_classes * float(np.prod(tile(modes)))
    spreading = n_rows * (5e-8 + 5e-10 * width**n_components * (1 + (n_components + 1) // 2))
    return float(5e-4 + 2e-5 * n_classes + lattices * (1.1e-8 * (1 + n_components) + 5e-10 * n_classes) + spreading)


def separable_cost(n_rows: int, modes: Modes, n_classes: int) -> float:
    """Seconds of value and gradient by tables; infinite if there is no such form or its tables are too large."""
    if len(modes) > 2 or n_rows * (sum(modes) + 2) > 2**24:
        return np.inf
    tables = n_rows * sum(modes)
    products = n_rows * np.prod([2 * m + 2 for m in modes]) if len(modes) == 2 else tables
    points = float(np.prod([2 * m + 1 for m in modes])) / 2
    return float(1e-4 + 1e-8 * tables + 2.5e-10 * products) + _spectra_cost(points, n_classes)


def nonuniform_cost(n_rows: int, modes: Modes, n_classes: int, tolerance: float) -> float:
    """Seconds of value and gradient by finufft: calls, spreading over a kernel, and FFTs of the doubled grid."""
    width = np.ceil(-np.log10(tolerance)) + 1
    n_components = len(modes)
    points = float(np.prod([4 * m + 2 for m in modes]))
    transforms = n_classes * (1 + (n_components + 1) // 2)
    own = 8e-4 * n_classes + 1.4e-8 * points * transforms + n_rows * (1.5e-7 + 1.5e-9 * width**n_components)
    return float(own) + _spectra_cost(float(np.prod([2 * m + 1 for m in modes])), n_classes)


def _spectra_cost(points: float, n_classes: int) -> float:
    """Seconds after the transforms: damping the spectrum of each class, and two products with all spectra."""
    return n_classes * (1.2e-4 + 4e-8 * points + 1e-9 * points * n_classes)
