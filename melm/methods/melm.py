"""Maximum Entropy Linear Manifold. With one component it is the paper's MELC."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from melm.data.labeled import Labeled
from melm.density import GRID_COMPONENTS
from melm.estimator import MELM
from melm.fitting import GAMMA_FOLDS, GAMMAS, Fitting
from melm.methods.base import Method, Parameters, PositiveNumber, Share
from melm.model import Model
from melm.objective.potential.pairs import pairwise_cost
from melm.plan import Plan, Resamples, Result, Unit
from melm.search.climb import RACE_EVALUATIONS
from melm.search.path import ITERATIONS, RIDGES, SAMPLE_ROWS
from melm.search.path import RACE_EVALUATIONS as PATH_RACE_EVALUATIONS
from melm.search.preview import Preview, preview
from melm.search.race import CLIMB_EVALUATIONS, POLISH_EVALUATIONS
from melm.search.regularization import FOLDS, inner_folds
from melm.search.sample import sample_sizes

PATH_EVALUATIONS = 260  # typical of a unit that climbs a path, beside its race,
CLIMBED = 4  # of the starts that climb on larger samples,
GRID_SECONDS = 2e-3  # and of the grid of a class


def _parameters_of(documented: type) -> dict[str, str]:
    """The texts of the parameters in the docstring of a class."""
    lines = (inspect.getdoc(documented) or "").partition("Parameters\n----------\n")[2].splitlines()
    texts: dict[str, list[str]] = {}
    described: list[str] = []
    for line, following in pairwise([*lines, ""]):
        if following.startswith("---"):  # the heading of the next section
            break
        if line and not line.startswith(" "):
            described = []
            texts |= dict.fromkeys(line.partition(" : ")[0].split(", "), described)
        elif line:
            described.append(line.strip())
    return {name: " ".join(said) for name, said in texts.items()}


TEXTS = defaultdict(str, _parameters_of(MELM))  # python -OO removes docstrings


class MelmParameters(Parameters):
    """Parameters of a MELM fit. Names, defaults and texts are those of the estimator."""

    n_components: int = Field(default=2, ge=1, description=TEXTS["n_components"])
    gamma: PositiveNumber | Annotated[list[PositiveNumber], Field(min_length=1)] | Literal["auto"] = Field(  # type: ignore[assignment]
        default=1.0, description=TEXTS["gamma"]
    )
    n_starts: int = Field(default=16, ge=1, description=TEXTS["n_starts"])
    covariance: Literal["ledoit_wolf", "empirical"] = Field(default="ledoit_wolf", description=TEXTS["covariance"])
    regularization: Literal["path"] | None = Field(default="path", description=TEXTS["regularization"])
    objective: Literal["auto", "divergence", "posterior"] = Field(default="auto", description=TEXTS["objective"])
    ridge: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = Field(
        default="auto", description=TEXTS["ridge"]
    )
    select_start_by: Literal["divergence", "balanced_accuracy"] = Field(
        default="divergence", description=TEXTS["select_start_by"]
    )
    priors: Literal["balanced", "empirical"] | list[Share] = Field(default="balanced", description=TEXTS["priors"])
    max_iterations: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default="auto", description=TEXTS["max_iterations"]
    )
    tolerance: PositiveNumber = Field(default=1e-7, description=TEXTS["tolerance"])


class MelmMethod(Method[MelmParameters]):
    """The projection in which kernel density estimates of the classes differ most by the Cauchy-Schwarz divergence.

    The method of this project. With one component it is the paper's MELC, the multithreshold entropy linear classifier.
    """

    name = "melm"
    title = "Maximum Entropy Linear Manifold"
    orthonormal = True
    common = True
    Parameters = MelmParameters
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"gamma": GAMMAS}

    def n_units(self, parameters: MelmParameters) -> int:
        if parameters.regularization is not None:
            return (1 + FOLDS) * self.n_starts(parameters)
        n_gammas = self._n_gammas(parameters)
        n_searches = 1 if n_gammas == 1 else 1 + n_gammas * GAMMA_FOLDS
        return n_searches * parameters.n_starts

    def estimated_seconds(self, parameters: MelmParameters, counts: Sequence[int], n_features: int) -> float:
        if parameters.regularization is not None:
            share = min(1.0, SAMPLE_ROWS / sum(counts))
            sampled = [max(round(share * count), 1) for count in counts]
            on_all = max(ITERATIONS) * self._evaluation(parameters, counts, n_features) if share < 1 else 0.0
            n_judging, _ = inner_folds(sum(counts), min(counts))
            n_units = (1 + n_judging) * self.n_starts(parameters)
            n_races = 0 if len(counts) == 2 else n_units // (len(RIDGES) if parameters.ridge == "auto" else 1)
            n_sampled = n_units * PATH_EVALUATIONS + n_races * parameters.n_starts * PATH_RACE_EVALUATIONS
            return n_sampled * self._evaluation(parameters, sampled, n_features) + on_all
        *samples, n_rows = sample_sizes(sum(counts))
        sizes = [*samples, n_rows]
        n_evaluations = [parameters.n_starts * (RACE_EVALUATIONS + POLISH_EVALUATIONS)]
        n_evaluations += [CLIMBED * CLIMB_EVALUATIONS] * len(samples)
        n_searches = self.n_units(parameters) / parameters.n_starts
        by_step = [[max(size * count // n_rows, 1) for count in counts] for size in sizes]
        return n_searches * sum(
            n * self._evaluation(parameters, drawn, n_features) for n, drawn in zip(n_evaluations, by_step, strict=True)
        )

    def _evaluation(self, parameters: MelmParameters, counts: Sequence[int], n_features: int) -> float:
        """Estimated seconds of the divergence with its gradient, on a grid of usual size or over all pairs of rows."""
        n_rows, k = sum(counts), parameters.n_components
        by_grid = GRID_SECONDS * len(counts) + n_rows * (1.5e-7 + 1.5e-9 * 8**k) if k <= GRID_COMPONENTS else np.inf
        return 1e-9 * n_rows * n_features * k + min(by_grid, pairwise_cost(counts))

    def n_starts(self, parameters: MelmParameters) -> int:
        if parameters.regularization is None:
            return parameters.n_starts
        return self._n_gammas(parameters) * (len(RIDGES) if parameters.ridge == "auto" else 1)

    def plan(self, data: Labeled, parameters: MelmParameters, resamples: Resamples = (), name: str = "") -> Plan[Model]:
        model, _ = yield from self._fitting(data, parameters).plan(data, resamples, name)
        return model

    def run(self, data: Labeled, parameters: MelmParameters, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        return self._fitting(data, parameters).run(data, unit, should_stop)

    def run_together(
        self, data: Labeled, parameters: MelmParameters, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> list[Result]:
        return self._fitting(data, parameters).task(data, units, should_stop)()

    def preview(self, data: Labeled, parameters: MelmParameters, unit: Unit, result: Result) -> Preview | None:
        search = self._fitting(data, parameters).search
        ridge, n_kept = unit.arguments.get("ridge", search.ridge), unit.arguments.get("n_kept")
        prepared = data.prepare(search.covariance, unit.resamples, ridge, n_kept)
        return preview(data, prepared, unit, result)

    def _n_gammas(self, parameters: MelmParameters) -> int:
        gammas = GAMMAS if parameters.gamma == "auto" else parameters.gamma
        return len(gammas) if isinstance(gammas, Sequence) else 1

    def _fitting(self, data: Labeled, parameters: MelmParameters) -> Fitting:
        return _fitting_of(parameters.model_dump_json(), data.X.shape[1])


@lru_cache(maxsize=100)  # each unit of a fit asks, and a worker may alternate between fits
def _fitting_of(parameters: str, n_features: int) -> Fitting:
    options = json.loads(parameters)
    return MELM(random_state=options.pop("seed"), **options).fitting(n_features)


METHOD = MelmMethod()
