"""The one-class case: projections of unlabeled rows with the most, or the least, of Renyi's quadratic entropy.

H2 = -log of the integral of f^2, for a density f of the projected rows. f is a Gaussian, for which the extremes are
known (Theorems 1 and 2: the leading and the trailing principal components), or the kernel density estimate that the
rest of the library uses, for which they are found numerically.

Entropy grows with the scale of a projection, so extremes are sought among orthonormal projections. As H2(V A) = H2(V) +
log |det A|, H2(V) - 1/2 log det V^T V is the entropy of an orthonormal basis of the columns of V, whatever basis V is.
This is optimized without a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from melm.data.axes import covariance
from melm.data.labeled import check_option, check_positive, check_whole
from melm.data.projection import canonical, orthonormalize
from melm.data.rows import equal_shares
from melm.objective.bandwidth import silverman
from melm.objective.divergence import SPECTRAL_COMPONENTS, SPECTRAL_TOLERANCE
from melm.objective.potential import Gradient, Potentials
from melm.objective.potential.exact import ExactPotential, exact_cost
from melm.objective.potential.grid import pair_grid
from melm.objective.potential.spectral import SpectralPotentials
from melm.typing import Array

Density: TypeAlias = Literal["gaussian", "kernel"]
Goal: TypeAlias = Literal["maximize", "minimize"]

TOLERANCE = 1e-7  # largest entry of the gradient at an extreme
MAX_ITERATIONS = 1000
SELF = (0, 0)  # the one pair that one class has


class Entropy(Protocol):
    """Renyi's quadratic entropy of projected rows, as a function of the projection."""

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """H2(V) and its derivative in V (d, k)."""


class GaussianEntropy:
    """The entropy of a Gaussian with the covariance C of the rows: k/2 log(4 pi) + 1/2 log det V^T C V."""

    def __init__(self, spread: Array) -> None:
        """spread: C (d, d)."""
        self._spread = spread

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        CV = self._spread @ V
        S = V.T @ CV
        value = V.shape[1] / 2 * np.log(4 * np.pi) + np.linalg.slogdet(S)[1] / 2
        return float(value), CV @ np.linalg.inv(S)


class KernelEntropy:
    """The entropy of a kernel density estimate: -log ip, with smoothing h^2 V^T C V by the empirical covariance C."""

    def __init__(self, X: Array, gamma: float = 1.0) -> None:
        """X: rows (n, d), centered."""
        self._X = X
        self._spread = covariance(X)
        self._gamma = gamma
        self._shares = equal_shares([X])

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        width = silverman(len(self._X), V.shape[1], self._gamma)
        smoothing = width**2 * self._spread
        Z, S = [self._X @ V], (V.T @ smoothing @ V)[None]
        potentials = _potentials(Z, S, self._shares)
        gradient = Gradient.zeros(Z)
        potentials.add_gradient({SELF: -1.0}, gradient)
        dV: Array = self._X.T @ gradient.rows[0] + 2 * smoothing @ V @ gradient.smoothing[0]
        return -potentials.log_values[SELF], dV


def _potentials(Z: list[Array], S: Array, shares: list[Array]) -> Potentials:
    """The information potential of one class, in the cheaper form."""
    n_rows, n_components = Z[0].shape
    cost = exact_cost(n_rows, n_rows, same=True)
    grid = pair_grid(SELF, Z, S, SPECTRAL_TOLERANCE) if n_components <= SPECTRAL_COMPONENTS else None
    if grid is not None and grid.cost < cost:
        return SpectralPotentials(grid, Z, S, shares)
    return ExactPotential(SELF, Z, S, shares)


@dataclass(frozen=True)
class EntropyProjection:
    """z = (x - offset) projection, the orthonormal projection with extreme entropy."""

    projection: Array  # (d, k)
    offset: Array  # (d,)
    entropy: float

    def transform(self, X: npt.ArrayLike) -> Array:
        """Rows in the projected space (n, k)."""
        Z: Array = (np.asarray(X, dtype=np.float64) - self.offset) @ self.projection
        return Z


def project_by_entropy(
    X: npt.ArrayLike,
    n_components: int = 2,
    *,
    density: Density = "kernel",
    goal: Goal = "maximize",
    gamma: float = 1.0,
    n_starts: int = 8,
    seed: int = 0,
) -> EntropyProjection:
    """Find the orthonormal projection of unlabeled rows whose density has extreme entropy.

    Directions in which the rows do not vary are left out, because entropy has no lower bound along them. `gamma` scales
    the kernel. The first starts are the leading and the trailing principal components, the others are random. Up to
    three components, the time of an evaluation is linear in the number of rows; beyond, it is quadratic.

    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> project_by_entropy(X, density="gaussian").transform(X).shape
    (150, 2)
    """
    rows: Array = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    check_option("density", density, get_args(Density))
    check_option("goal", goal, get_args(Goal))
    with threadpool_limits(1):
        center, spread = rows.mean(axis=0), covariance(rows)
        axes, variances = _support(spread, len(rows))  # widest first
        k = check_whole("n_components", n_components, 1)
        if k > len(variances):
            raise ValueError(f"n_components={k} is larger than the {len(variances)} dimensions in which the rows vary.")
        if density == "gaussian":
            V = axes[:, :k] if goal == "maximize" else axes[:, len(variances) - k :]
            entropy: Entropy = GaussianEntropy(spread)
        else:
            # One common unit, that of the widest axis, avoids extreme values and keeps projections orthonormal.
            unit = np.sqrt(variances[0])
            kernel = KernelEntropy((rows - center) @ axes / unit, check_positive("gamma", gamma))
            starts = [_start(len(variances), k, seed, index) for index in range(check_whole("n_starts", n_starts, 1))]
            V = axes @ _best(kernel, starts, goal)
            entropy = KernelEntropy(rows - center, gamma)
        projection = canonical(V, lambda Q: Q.T @ spread @ Q)
        return EntropyProjection(projection, center, entropy.value_and_gradient(projection)[0])


def optimize_entropy(entropy: Entropy, V0: Array, goal: Goal) -> tuple[float, Array]:
    """The extreme of the entropy that is reached from V0, and an orthonormal projection that has it."""
    sign = 1.0 if goal == "minimize" else -1.0

    def height(flat: Array) -> tuple[float, Array]:
        V = flat.reshape(V0.shape)
        value, gradient = entropy.value_and_gradient(V)
        gram = V.T @ V
        invariant = value - np.linalg.slogdet(gram)[1] / 2
        return sign * float(invariant), sign * (gradient - V @ np.linalg.inv(gram)).ravel()

    end = minimize(
        height,
        V0.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": TOLERANCE, "ftol": 0.0, "maxiter": MAX_ITERATIONS},
    )
    return sign * float(end.fun), orthonormalize(end.x.reshape(V0.shape))


def _best(entropy: Entropy, starts: list[Array], goal: Goal) -> Array:
    ends = [optimize_entropy(entropy, V0, goal) for V0 in starts]
    return (max if goal == "maximize" else min)(ends, key=lambda end: end[0])[1]


def _support(spread: Array, n_rows: int) -> tuple[Array, Array]:
    """Principal axes along which the rows vary, widest first, and the variances along them."""
    variances, axes = np.linalg.eigh(spread)
    varying = variances > max(n_rows, len(variances)) * np.finfo(float).eps * variances[-1]
    if not varying.any():
        raise ValueError("All features are constant: there is nothing to project.")
    return axes[:, varying][:, ::-1], variances[varying][::-1]


def _start(n_dimensions: int, n_components: int, seed: int, index: int) -> Array:
    """A start in coordinates of the principal axes: the leading ones, the trailing ones, or random orthonormal ones."""
    identity = np.eye(n_dimensions)
    if index == 0:
        return identity[:, :n_components]
    if index == 1:
        return identity[:, n_dimensions - n_components :]
    generator = np.random.default_rng([seed, index])
    return orthonormalize(generator.standard_normal((n_dimensions, n_components)))
