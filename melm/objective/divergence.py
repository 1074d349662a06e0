"""The Cauchy-Schwarz divergence of projected classes, with its gradient.

For two classes it is the paper's D_CS(V) = log ip_aa + log ip_bb - 2 log ip_ab; for more, the soft minimum over pairs
D(V) = -2 log(mean over pairs of exp(-D_CS(a, b) / 2)), that is, the mean cosine similarity of the class densities on
a log scale. Only the column space of V matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from melm.data.blocks import times
from melm.data.covariance import CovarianceKind
from melm.data.labeled import Labeled, check_components, check_option, check_positive
from melm.data.prepared_rows import PreparedRows
from melm.objective.bandwidth import silverman
from melm.objective.potential import Gradient, Pair, Potentials
from melm.objective.potential.exact import ExactPotential, exact_cost
from melm.objective.potential.grid import pair_grid, shared_grid
from melm.objective.potential.pairs import PairwisePotentials, pairwise_cost
from melm.objective.potential.split import spectral_potentials
from melm.typing import Array, Matrix

Form: TypeAlias = Literal["auto", "exact", "spectral"]

SPECTRAL_COMPONENTS = 3  # with more, grids grow faster than pairs
SPECTRAL_TOLERANCE = 1e-8
TIGHTEST_TOLERANCE = 1e-13
RESOLVED = 1e3  # the mean similarity is trusted down to this many times the tolerance
PAIR_SECONDS = 4e-4  # least time of a grid for a single pair
QUICK_SECONDS = 3e-4  # the exact form is used if it takes less, without comparing grids
ROWS_ARE_LESS = 4  # projected rows replace the covariances if these are so many times larger
QUICK_PAIRS = 2**22  # up to so many pairs, an unresolved similarity is computed exactly, without trying a finer grid


class WhitenedDivergence:
    """The divergence as a function of a projection of whitened coordinates (r, k): what the optimizer climbs."""

    def __init__(
        self,
        prepared: PreparedRows,
        n_components: int,
        gamma: float = 1.0,
        form: Form = "auto",
        spectral_tolerance: float = SPECTRAL_TOLERANCE,
    ) -> None:
        self.prepared = prepared
        self.n_components = n_components
        self.form = form
        self.spectral_tolerance = spectral_tolerance
        self.n_evaluations = 0
        widths = np.array([silverman(size, n_components, gamma) for size in prepared.sizes])
        self._shares = prepared.rows.shares
        covariances, mixture = prepared.whitening.covariances, prepared.whitening.mixture
        # If the covariances are large relative to the rows, their products with V are computed from projected rows.
        self._by_rows = (
            mixture is not None and covariances.size > ROWS_ARE_LESS * sum(prepared.rows.counts) * n_components
        )
        if self._by_rows and mixture is not None:
            self._mixture = widths[:, None] ** 2 * mixture
        else:
            self._smoothing = widths[:, None, None] ** 2 * covariances  # (C, r, r)
        classes = range(len(widths))
        self._pairs = list(combinations_with_replacement(classes, 2))
        self._cross_pairs = list(combinations(classes, 2))
        self._pairwise_cost = pairwise_cost(prepared.rows.counts)

    def log_potentials(self, V: Array) -> dict[Pair, float]:
        """log ip of every pair of classes a <= b."""
        return {pair: potentials.log_values[pair] for pair, potentials in self._evaluate(V)[0].items()}

    def value(self, V: Array) -> float:
        """D(V)."""
        return divergence_of(self.log_potentials(V))

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        """D(V) and its derivative in V (r, k)."""
        owners, Z, F, smoothed = self._evaluate(V)
        logs = {pair: potentials.log_values[pair] for pair, potentials in owners.items()}
        value, weights = divergence_of(logs), divergence_slopes(logs)
        gradient = Gradient.zeros(Z)
        held: dict[Potentials, dict[Pair, float]] = {}
        for pair, potentials in owners.items():
            held.setdefault(potentials, {})[pair] = weights[pair]
        for potentials, some in held.items():
            potentials.add_gradient(some, gradient)
        to_features = self.prepared.whitening.to_features
        if smoothed is not None:
            features = self.prepared.rows.pull_back(gradient.together)
            return value, times(to_features.T, features) + 2 * (smoothed @ gradient.smoothing).sum(axis=0)
        for own, z, shares, slope, (share, _) in zip(
            gradient.rows, Z, self._shares, gradient.smoothing, self._mixture, strict=True
        ):
            own += 2 * share * shares[:, None] * ((z - shares @ z) @ slope)
        noise = np.tensordot(self._mixture[:, 1], gradient.smoothing, 1)
        return value, times(to_features.T, self.prepared.rows.pull_back(gradient.together) + 2 * F @ noise)

    def _evaluate(self, V: Array) -> tuple[dict[Pair, Potentials], list[Array], Array, Array | None]:
        """Every pair with its potentials, the projected rows, V as a projection of features (d, k), and smoothing.

        The last are the smoothing matrices times V (C, r, k); None if they are computed from the projected rows.
        """
        self.n_evaluations += 1
        F = times(self.prepared.whitening.to_features, V)
        Z = self.prepared.rows.project(F)
        if self._by_rows:
            return self._potentials(Z, self._smoothing_by_rows(Z, F)), Z, F, None
        smoothed = (self._smoothing.reshape(-1, len(V)) @ V).reshape(-1, *V.shape)
        return self._potentials(Z, V.T @ smoothed), Z, F, smoothed

    def _smoothing_by_rows(self, Z: list[Array], F: Array) -> Array:
        """h^2 V^T C_c V (C, k, k), from the covariance of the projected rows and the identity on the features."""
        identity = F.T @ F
        smoothing = []
        for z, shares, (share, noise) in zip(Z, self._shares, self._mixture, strict=True):
            centered = z - shares @ z
            smoothing.append(share * centered.T @ (shares[:, None] * centered) + noise * identity)
        return np.stack(smoothing)

    def _potentials(self, Z: list[Array], S: Array) -> dict[Pair, Potentials]:
        """Every pair with its potentials, in forms that resolve the similarity of the classes."""
        if self.form == "exact" or self.n_components > SPECTRAL_COMPONENTS:
            return self._pairwise(Z, S)
        if self.form == "auto" and self._pairwise_cost < QUICK_SECONDS:
            return self._pairwise(Z, S)
        owners = self._cheapest(Z, S, self.spectral_tolerance)
        if self._resolved(owners, self.spectral_tolerance):
            return owners
        if sum(len(Z[a]) * len(Z[b]) for a, b in self._cross_pairs) > QUICK_PAIRS:
            owners = self._cheapest(Z, S, TIGHTEST_TOLERANCE)
            if self._resolved(owners, TIGHTEST_TOLERANCE):
                return owners
        return owners | self._exact(self._cross_pairs, Z, S, near_only=True)

    def _cheapest(self, Z: list[Array], S: Array, tolerance: float) -> dict[Pair, Potentials]:
        """The cheapest of these: all pairs of rows, one grid for all classes, or for each pair the cheaper of both."""
        shared = shared_grid(self._pairs, Z, S, tolerance)
        pairwise = np.inf if self.form == "spectral" else self._pairwise_cost
        together = min(pairwise, shared.cost if shared else np.inf)
        few_enough = shared is not None and shared.excess <= len(Z) and shared.cost <= pairwise
        # Grids for single pairs are not tried if setting them up would cost as much as one of the other forms.
        if not few_enough and together > PAIR_SECONDS * len(self._pairs):
            grids = {pair: pair_grid(pair, Z, S, tolerance) for pair in self._pairs}
            costs = {pair: exact_cost(len(Z[pair[0]]), len(Z[pair[1]]), pair[0] == pair[1]) for pair in self._pairs}
            if self.form == "spectral":
                costs = {pair: np.inf if grids[pair] else cost for pair, cost in costs.items()}
            separate = sum(min(cost, grid.cost) if (grid := grids[pair]) else cost for pair, cost in costs.items())
            if separate < together:
                return {
                    pair: spectral_potentials(grid, Z, S, self._shares)
                    if (grid := grids[pair]) and grid.cost < cost
                    else ExactPotential(pair, Z, S, self._shares)
                    for pair, cost in costs.items()
                }
        if shared is not None and shared.cost <= pairwise:
            return dict.fromkeys(self._pairs, spectral_potentials(shared, Z, S, self._shares))
        return self._pairwise(Z, S)

    def _pairwise(self, Z: list[Array], S: Array) -> dict[Pair, Potentials]:
        return dict.fromkeys(self._pairs, PairwisePotentials(Z, S, self._shares))

    def _exact(self, pairs: list[Pair], Z: list[Array], S: Array, *, near_only: bool = False) -> dict[Pair, Potentials]:
        return {pair: ExactPotential(pair, Z, S, self._shares, near_only=near_only) for pair in pairs}

    def _resolved(self, owners: Mapping[Pair, Potentials], tolerance: float) -> bool:
        """Whether the mean similarity is far enough above the absolute error of a grid."""
        if all(isinstance(owners[pair], ExactPotential | PairwisePotentials) for pair in self._cross_pairs):
            return True
        logs = {pair: potentials.log_values[pair] for pair, potentials in owners.items()}
        similarity = float(np.exp(-divergence_of(logs) / 2))
        return similarity > RESOLVED * tolerance


class Divergence:
    """The divergence as an objective for your own optimizer.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,), at least two classes of at least two rows
    n_components : number of columns of the projections
    gamma : factor on the kernel width of Silverman's rule
    covariance : "ledoit_wolf" or "empirical"
    form : "auto" chooses by cost, "exact" sums over all pairs of rows, "spectral" over frequencies (up to 3 components)
    spectral_tolerance : accuracy of a potential in the spectral form, relative to its peak
    sample_weight : array of shape (n_samples,), how often each row counts; by default each counts once

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import numpy as np, melm
    >>> X, y = load_iris(return_X_y=True)
    >>> objective = melm.Divergence(X, y)
    >>> value, gradient = objective.value_and_gradient(np.eye(4)[:, :2])
    >>> gradient.shape
    (4, 2)
    """

    def __init__(
        self,
        X: Matrix,
        y: npt.ArrayLike,
        *,
        n_components: int = 2,
        gamma: float = 1.0,
        covariance: CovarianceKind = "ledoit_wolf",
        form: Form = "auto",
        spectral_tolerance: float = SPECTRAL_TOLERANCE,
        sample_weight: npt.ArrayLike | None = None,
    ) -> None:
        data = Labeled.check(X, y, sample_weight=sample_weight)
        self.classes_ = data.classes
        check_option("form", form, get_args(Form))
        check_option("covariance", covariance, get_args(CovarianceKind))
        if form == "spectral" and n_components > SPECTRAL_COMPONENTS:
            raise ValueError(
                f"form='spectral' goes up to {SPECTRAL_COMPONENTS} components, got n_components={n_components}; "
                "use form='exact'."
            )
        n_components = check_components(n_components, data.X.shape[1])
        gamma = check_positive("gamma", gamma)
        self.prepared = data.prepare(covariance)
        self._whitened = WhitenedDivergence(self.prepared, n_components, gamma, form, spectral_tolerance)

    def value(self, V: npt.ArrayLike) -> float:
        """D(V) for a projection V (n_features, n_components) with independent columns."""
        return self._whitened.value(self._to_whitened(V))

    def value_and_gradient(self, V: npt.ArrayLike) -> tuple[float, Array]:
        """D(V) and its derivative in V."""
        value, gradient = self._whitened.value_and_gradient(self._to_whitened(V))
        whitened_back = self.prepared.whitening.from_features.T @ gradient
        return value, self.prepared.rows.gradient_to_features(whitened_back)

    def entropies(self, V: npt.ArrayLike) -> Array:
        """Renyi's quadratic entropies -log ip_aa on the diagonal, the cross entropies -log ip_ab off it: (C, C).

        They depend on the scale of the projected data, unlike the divergence.
        """
        logs = self._whitened.log_potentials(self._to_whitened(V))
        matrix = np.empty((len(self.classes_), len(self.classes_)))
        for (a, b), log_value in logs.items():
            matrix[a, b] = matrix[b, a] = -log_value
        return matrix

    def _to_whitened(self, V: npt.ArrayLike) -> Array:
        V = np.asarray(V, dtype=np.float64)
        expected = (len(self.prepared.rows.scale), self._whitened.n_components)
        if V.shape != expected:
            raise ValueError(f"V has shape {V.shape}, expected (n_features, n_components) = {expected}.")
        if not np.isfinite(V).all():
            raise ValueError("V holds NaN or infinity.")
        V_white = self.prepared.to_whitened(V)
        if np.linalg.matrix_rank(V_white) < V.shape[1]:
            raise ValueError("The columns of V are linearly dependent on the data: the projection has no density.")
        return V_white


def divergence(
    X: Matrix,
    y: npt.ArrayLike,
    V: npt.ArrayLike,
    *,
    gamma: float = 1.0,
    covariance: CovarianceKind = "ledoit_wolf",
    form: Form = "auto",
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """The Cauchy-Schwarz divergence between the classes of (X, y) after projection by V (n_features, n_components)."""
    n_components = np.shape(V)[1] if np.ndim(V) == 2 else 1
    objective = Divergence(
        X, y, n_components=n_components, gamma=gamma, covariance=covariance, form=form, sample_weight=sample_weight
    )
    return objective.value(V)


def divergence_of(logs: Mapping[Pair, float]) -> float:
    """The divergence from the log potentials of all pairs."""
    similarities = _similarities(logs)[2]
    return float(-2 * (np.logaddexp.reduce(similarities) - np.log(len(similarities))))


def divergence_slopes(logs: Mapping[Pair, float]) -> dict[Pair, float]:
    """d D / d log ip for every pair a <= b."""
    first, second, similarities = _similarities(logs)
    weights = np.exp(similarities - np.logaddexp.reduce(similarities))
    n_classes = int(second.max()) + 1
    slopes = np.diag(np.bincount(first, weights, n_classes) + np.bincount(second, weights, n_classes))
    slopes[first, second] = -2 * weights
    return dict(zip(logs, slopes[_codes(tuple(logs))].tolist(), strict=True))


@lru_cache
def _codes(pairs: tuple[Pair, ...]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first and the second classes of pairs, as index arrays."""
    first, second = np.array(pairs).T
    return first, second


def _similarities(logs: Mapping[Pair, float]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array]:
    """Codes a < b of pairs of classes, and the log of the cosine similarity of their densities."""
    first, second = _codes(tuple(logs))
    values = np.fromiter(logs.values(), np.float64, len(logs))
    own = np.empty(first.max() + 1)
    itself = first == second
    own[first[itself]] = values[itself]
    a, b = first[~itself], second[~itself]
    return a, b, values[~itself] - (own[a] + own[b]) / 2
