"""Grids of frequencies: which basis, how fine, how wide, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from melm.potential import Pair, rotate, whitening_basis
from melm.potential.transform import Modes, Nonuniform, Separable
from melm.rows import Array

MAX_POINTS = 2**22  # of one grid: 64 MiB a spectrum


@dataclass(frozen=True)
class Grid:
    """Where the potentials of some pairs of classes are summed."""

    pairs: tuple[Pair, ...]
    basis: Array  # (k, k): u = z @ basis
    center: Array  # (k,), in u
    step: Array  # (k,), of the frequencies
    modes: Modes
    tolerance: float
    transform: type[Separable] | type[Nonuniform]
    cost: float  # estimated seconds
    excess: float  # how many times more points than classes of one common smoothing would need

    @property
    def classes(self) -> list[int]:
        return sorted({c for pair in self.pairs for c in pair})


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
    """A grid for one pair, in the basis that makes its smoothing the identity: never finer than the pair itself."""
    basis = whitening_basis(S[pair[0]] + S[pair[1]])
    ones = np.ones(len(basis))
    return _grid([pair], basis, ones, ones, Z, tolerance)


def _grid(
    pairs: Sequence[Pair], basis: Array, finest: Array, widest: Array, Z: list[Array], tolerance: float
) -> Grid | None:
    """The smallest grid that is accurate to the tolerance, or None where that is too large.

    The Gaussian ends at frequency reach * finest, and periodic images stay reach * widest apart.
    """
    classes = sorted({c for pair in pairs for c in pair})
    U = [rotate(Z[c], basis) for c in classes]
    low = np.min([u.min(axis=0) for u in U], axis=0)
    high = np.max([u.max(axis=0) for u in U], axis=0)
    reach = np.sqrt(-2 * np.log(tolerance))
    step = 2 * np.pi / (high - low + reach * widest)
    size = np.ceil(reach * finest / step)
    if np.prod(2 * size + 1) > MAX_POINTS:
        return None
    modes = tuple(int(m) for m in size)
    n_rows = sum(len(u) for u in U)
    separable, nonuniform = separable_cost(n_rows, modes), nonuniform_cost(n_rows, modes, len(classes), tolerance)
    cheapest: type[Separable] | type[Nonuniform] = Separable if separable < nonuniform else Nonuniform
    return Grid(
        pairs=tuple(pairs),
        basis=basis,
        center=(low + high) / 2,
        step=step,
        modes=modes,
        tolerance=tolerance,
        transform=cheapest,
        cost=min(separable, nonuniform),
        excess=float(np.prod(finest * widest)),
    )


def separable_cost(n_rows: int, modes: Modes) -> float:
    """Seconds of value and gradient by tables; infinite where there is no such form or its tables grow large."""
    if len(modes) > 2 or n_rows * (sum(modes) + 2) > 2**24:
        return np.inf
    tables = n_rows * sum(modes)
    products = n_rows * np.prod([2 * m + 2 for m in modes]) if len(modes) == 2 else tables
    return float(1.0e-4 + 1.0e-8 * tables + 2.5e-10 * products)


def nonuniform_cost(n_rows: int, modes: Modes, n_classes: int, tolerance: float) -> float:
    """Seconds of value and gradient by finufft: calls, spreading over a kernel, and FFTs of the doubled grid."""
    width = np.ceil(-np.log10(tolerance)) + 1
    n_components = len(modes)
    points = float(np.prod([4 * m + 2 for m in modes]))
    transforms = n_classes * (1 + (n_components + 1) // 2)
    return float(8e-4 * n_classes + 1.4e-8 * points * transforms + n_rows * (1.5e-7 + 1.5e-9 * width**n_components))
