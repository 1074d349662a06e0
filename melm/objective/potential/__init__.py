"""Information potentials of projected classes: exactly over all pairs, or in linear time on a frequency grid.

With the smoothing S_c = h_c^2 V^T C_c V of each projected class, the potential of classes a and b is

    ip_ab = 1 / (n_a n_b) * sum over i in a, j in b of N(z_i - z_j; 0, S_a + S_b),

the inner product of their kernel density estimates. Both forms give log ip and pull gradients back to the projected
rows and to the smoothing matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from melm.data.blocks import divided
from melm.typing import Array

Pair: TypeAlias = tuple[int, int]  # class codes a <= b

SINGULAR = 1e-14  # smallest eigenvalue of a correlation matrix that is not a rounding error


@dataclass
class Gradient:
    """Derivatives of a function of the potentials in the projected rows and in the smoothing of each class."""

    together: Array  # (n, k), class after class
    rows: list[Array]  # C of (n_c, k): views of it
    smoothing: Array  # (C, k, k)

    @classmethod
    def zeros(cls, Z: list[Array]) -> Gradient:
        counts, n_components = list(map(len, Z)), Z[0].shape[1]
        together = np.zeros((sum(counts), n_components), order="F")
        return cls(together, divided(together, counts), np.zeros((len(Z), n_components, n_components)))


class Potentials(Protocol):
    """Log potentials of some pairs of classes, and their gradients."""

    @property
    def log_values(self) -> Mapping[Pair, float]:
        """log ip by pair; -inf where it is below what the form resolves."""

    def add_gradient(self, weights: Mapping[Pair, float], gradient: Gradient) -> None:
        """Add the derivatives of the sum of weight * log ip over the pairs held here."""


def whitening_basis(S: Array) -> Array:
    """T with T^T S T = I, for a small positive definite S, or for each of a stack (..., k, k).

    By eigenvalues of its correlations, which is stable for axes of very different scales and for nearly singular S.
    """
    scale = np.sqrt(np.diagonal(S, axis1=-2, axis2=-1))
    spread, axes = np.linalg.eigh(S / (scale[..., :, None] * scale[..., None, :]))
    basis: Array = axes / np.sqrt(np.maximum(spread, SINGULAR))[..., None, :] / scale[..., :, None]
    return basis


def rotate(Z: Array, basis: Array) -> Array:
    """Z @ basis with contiguous columns, on which minima, maxima and transforms are several times faster."""
    rotated: Array = (basis.T @ Z.T).T
    return rotated
