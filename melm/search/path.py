"""The regularization path: candidates that differ in their start, ridge, objective and number of iterations.

The projection with the highest divergence often does not separate new rows best, so points on the way to it are
candidates too. One climb gives several candidates: its projections after given numbers of iterations. A path begins at
the partial least squares directions and at the informed discriminant start. With more than two classes, when there are
often several optima, it also begins at the best start of a race. From each start the divergence is climbed, and from
the point reached the leave-one-out log posterior. With more features than rows, some paths use only the features that
separate the classes best on their own: among thousands of features, chance directions separate the training rows as
well as true ones do, whatever the ridge.

Every candidate is scored by the log posteriors of the held-out rows of inner folds. `melm.search.choice` chooses among
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from melm.data.covariance import CovarianceKind
from melm.data.partial_least_squares import partial_least_squares
from melm.data.prepared_rows import PreparedRows
from melm.data.projection import orthonormalize
from melm.density.projected import class_densities
from melm.objective.divergence import Form, WhitenedDivergence
from melm.objective.posterior import WhitenedPosterior, background
from melm.plan import Result
from melm.search.climb import FLATNESS, MEMORY, climb
from melm.search.recording import Climbable, Recording
from melm.search.sample import sample
from melm.search.starts import start_projection
from melm.typing import Array

Objective: TypeAlias = Literal["divergence", "posterior"]
StartName: TypeAlias = Literal["pls", "informed", "race"]
HeldOut: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.intp]]  # rows and class codes

RIDGES = (0.0, 1.0, 3.0)
ITERATIONS = (0, 1, 2, 4, 8, 15, 30)
POSTERIOR_CLASSES = 10  # the posterior is climbed up to so many, as its cost grows with their number
POSTERIOR_SCALE = 10.0  # scales the log posterior to the size of a divergence, relative to the penalty
KEPT = (10, 30, 100)  # features that screening keeps, with more features than rows
RACE_EVALUATIONS = 8  # of each start of a race
SAMPLE_ROWS = 4000  # larger datasets are searched, and candidates scored, on so many rows


class Setting(NamedTuple):
    """The parameters in which paths differ."""

    ridge: float
    gamma: float
    n_kept: int | None = None  # features that screening keeps; None: all


@dataclass(frozen=True)
class Candidate:
    """A point on a path."""

    ridge: float
    gamma: float
    start: StartName
    objective: Objective
    n_iterations: int
    n_kept: int | None = None  # features that screening keeps; None: all


@dataclass(frozen=True)
class Path:
    """The parameters of a regularized search: which candidates there are, and how they are found."""

    n_components: int
    covariance: CovarianceKind
    ridges: tuple[float, ...]
    gammas: tuple[float, ...]
    objectives: tuple[Objective, ...]
    iterations: tuple[int, ...]
    n_starts: int  # of the race
    form: Form
    tolerance: float
    seed: int

    def settings(self, n_rows: int, n_features: int) -> list[Setting]:
        """The settings of the paths. With more features than rows, some use only the best features."""
        settings = [Setting(ridge, gamma) for ridge, gamma in product(self.ridges, self.gammas)]
        if n_features > n_rows:
            ridge = self.ridges[len(self.ridges) // 2]
            settings += [
                Setting(ridge, gamma, n_kept)
                for gamma, n_kept in product(self.gammas, KEPT)
                if self.n_components <= n_kept < n_features
            ]
        return settings

    def candidates(self, setting: Setting, n_classes: int) -> list[Candidate]:
        """The candidates of one path, in the order of the results of `run`."""
        ridge, gamma, n_kept = setting
        return [
            Candidate(ridge, gamma, start, objective, n_iterations, n_kept)
            for start in self._starts(setting, n_classes)
            for objective in self._objectives(n_classes)
            for n_iterations in self._steps(objective)
        ]

    def run(
        self, prepared: PreparedRows, held_out: HeldOut | None, arguments: Result, should_stop: Callable[[], bool]
    ) -> Result:
        """All candidates of one path: their log posteriors of held-out rows, or else the projections themselves."""
        whole, n_rows, gamma = prepared, sum(prepared.rows.counts), arguments["gamma"]
        if n_rows > SAMPLE_ROWS:
            prepared = sample(prepared, SAMPLE_ROWS, self.seed)
        divergence = Recording(
            WhitenedDivergence(prepared, self.n_components, gamma, self.form), arguments, should_stop
        )
        posterior = divergence.beside(WhitenedPosterior(prepared, self.n_components, gamma, self.form))
        shape = (len(prepared.whitening.covariances[0]), self.n_components)
        found: list[Array] = []
        n_classes, end = len(prepared.rows.counts), (-np.inf, np.full(shape, np.nan))
        setting = Setting(arguments["ridge"], gamma, arguments["n_kept"])
        for start in self._starts(setting, n_classes):
            V = self._start(start, prepared, divergence)
            for objective in self._objectives(n_classes):
                steps = self._steps(objective)
                if V is None:
                    found += [np.full(shape, np.nan)] * len(steps)
                    continue
                climbed: Climbable = divergence if objective == "divergence" else posterior
                scale = 1.0 if objective == "divergence" else POSTERIOR_SCALE
                points = follow(climbed, V, steps, scale, self.tolerance)
                found += points
                V = orthonormalize(points[-1])
                if objective == "divergence":
                    end = max(end, (divergence.value_and_gradient(V)[0], V), key=lambda pair: pair[0])
        result = {
            "n_evaluations": divergence.n_evaluations,
            "stopping_reason": "converged",
            "divergence": end[0],
        }
        if setting.n_kept is not None:
            result["kept"] = np.flatnonzero(whole.rows.varying)
        if held_out is None:
            standardized = [whole.whitening.to_features @ V for V in found]
            return result | {"projection": end[1], "projections": np.stack(standardized)}
        return result | {"log_posteriors": np.column_stack([self._judge(prepared, V, gamma, held_out) for V in found])}

    def _starts(self, setting: Setting, n_classes: int) -> tuple[StartName, ...]:
        races = n_classes > 2 and setting.ridge == self.ridges[0] and setting.n_kept is None
        return ("pls", "informed", "race") if races else ("pls", "informed")

    def _steps(self, objective: Objective) -> tuple[int, ...]:
        """Iterations after which a path has candidates; without 0 if it begins at the end of another objective."""
        return self.iterations if objective == self.objectives[0] else tuple(n for n in self.iterations if n > 0)

    def _objectives(self, n_classes: int) -> tuple[Objective, ...]:
        few = tuple(o for o in self.objectives if o == "divergence" or n_classes <= POSTERIOR_CLASSES)
        return few or ("divergence",)

    def _start(self, name: StartName, prepared: PreparedRows, divergence: Climbable) -> Array | None:
        """The start of a path, in whitened coordinates; None if there is no such start."""
        if name == "informed":
            return start_projection(prepared.whitening, self.n_components, self.seed, 0)
        if name == "pls":
            counts, weights = prepared.rows.counts, prepared.rows.weights
            directions = partial_least_squares(
                np.concatenate(prepared.rows.by_class),
                np.repeat(np.eye(len(counts)), counts, axis=0),
                self.n_components,
                None if weights is None else np.concatenate(weights),
            )
            if directions.shape[1] < self.n_components:
                return None
            return orthonormalize(prepared.whitening.from_features @ directions)
        climbs = [
            climb(
                divergence,
                start_projection(prepared.whitening, self.n_components, self.seed, index),
                tolerance=self.tolerance,
                max_iterations=RACE_EVALUATIONS,
                max_evaluations=RACE_EVALUATIONS,
            )
            for index in range(self.n_starts)
        ]
        return orthonormalize(max(climbs, key=lambda end: end.divergence).projection)

    def _judge(self, prepared: PreparedRows, V: Array, gamma: float, held_out: HeldOut) -> Array:
        """Log posterior of the true class of each held-out row (n,); NaN if there is no such candidate."""
        X, codes = held_out
        if not np.isfinite(V).all():
            return np.full(len(codes), np.nan)
        projection = prepared.to_features(V)
        densities = class_densities(prepared, projection, gamma, "balanced")
        logs = densities.log_densities(prepared.rows.place(X, projection))
        logs = np.logaddexp(logs, np.log(background(densities.smoothing)))
        own: Array = logs[np.arange(len(codes)), codes] - np.logaddexp.reduce(logs, axis=1)
        return own


def follow(
    objective: Climbable,
    V0: Array,
    iterations: Sequence[int],
    scale: float,
    tolerance: float,
) -> list[Array]:
    """The points of L-BFGS from V0 after these numbers of iterations; its last point if it ended before.

    It maximizes scale * value - |V^T V - I|^2. The penalty keeps the columns linearly independent and changes no
    optimum.
    """
    shape, identity = V0.shape, np.eye(V0.shape[1])
    visited = [V0]

    def height(flat: Array) -> tuple[float, Array]:
        V = flat.reshape(shape)
        value, gradient = objective.value_and_gradient(V)
        excess = V.T @ V - identity
        return float(np.square(excess).sum()) - scale * value, (4 * V @ excess - scale * gradient).ravel()

    try:
        if max(iterations) > 0:
            minimize(
                height,
                V0.ravel(),
                jac=True,
                method="L-BFGS-B",
                callback=lambda flat: visited.append(flat.reshape(shape).copy()),
                options={
                    "maxcor": MEMORY,
                    "gtol": tolerance,
                    "ftol": tolerance * FLATNESS,
                    "maxiter": max(iterations),
                    "maxfun": 20 * max(iterations),
                },
            )
    except np.linalg.LinAlgError:
        pass  # no density can be computed at its next point: keep those before
    return [visited[min(n_iterations, len(visited) - 1)] for n_iterations in iterations]
