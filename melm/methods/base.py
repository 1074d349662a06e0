"""The interface of a projection method: a name, a model of its parameters, and a plan of a fit."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from melm.data.axes import orient
from melm.data.block_moments import FeatureMoments
from melm.data.labeled import Labeled
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.prepared_rows import PreparedRows
from melm.data.row_space import RowSpace
from melm.data.taken import ScaledRows, Taken
from melm.density.projected import class_priors
from melm.fitting import assemble, check_dimensions
from melm.model import Model
from melm.plan import NothingFitted, Plan, Resamples, Result, Stage, Unit
from melm.search.preview import Preview
from melm.typing import Array, Matrix

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class DensityParameters(BaseModel):
    """Parameters of every method: those of the density classifier on its projection."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gamma: PositiveNumber = Field(default=1.0, description="Factor on the kernel width of Silverman's rule.")
    covariance: Literal["ledoit_wolf", "empirical"] = Field(
        "ledoit_wolf", description="Estimate of the covariance of a class."
    )
    priors: Literal["balanced", "empirical"] | list[Share] = Field(
        "balanced", description="Class probabilities of the classifier."
    )
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="Seed of everything random: equal seeds give equal models."
    )


class Parameters(DensityParameters):
    """The same, with a number of components."""

    n_components: int = Field(default=2, ge=1, description="Dimensions of the projection.")


class StandardizedParameters(Parameters):
    """The same, with a choice between raw and standardized features."""

    standardize: bool = Field(
        True, description="Divide each feature by its spread first, so that its unit of measurement does not matter."
    )


P = TypeVar("P", bound=BaseModel)


class Method(ABC, Generic[P]):
    """A projection method. It has no state: a fit depends on the data, the parameters and the results of units only."""

    name: ClassVar[str]
    title: ClassVar[str]  # for people
    orthonormal: ClassVar[bool]  # are the columns of its projections orthonormal, for the features that it saw?
    common: ClassVar[bool] = False  # is it one of those that people compare first?
    grid: ClassVar[Mapping[str, Sequence[float]]] = {}  # values worth trying of parameters that shape the projection
    Parameters: type[P]

    @property
    def description(self) -> str:
        """A description of the method for people: the docstring of its class."""
        return inspect.getdoc(type(self)) or self.title

    def n_units(self, parameters: P) -> int:
        """Estimated number of units of a fit without validation, not counting the last climbs of a few starts."""
        return 1

    def estimated_seconds(self, parameters: P, counts: Sequence[int], n_features: int) -> float:
        """Estimated time of a fit on one core without validation, for classes with these numbers of rows."""
        n_rows = sum(counts)
        return 0.05 + 1e-9 * n_rows * n_features * min(n_rows, n_features)

    def n_starts(self, parameters: P) -> int | None:
        """The number of starts that progress counts; None for a method that does not search."""
        return None

    @abstractmethod
    def plan(self, data: Labeled, parameters: P, resamples: Resamples = (), name: str = "") -> Plan[Model]:
        """Plan a fit on the training rows of the resamples; `name` is a prefix for the names of its units."""

    @abstractmethod
    def run(self, data: Labeled, parameters: P, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan."""

    def run_together(
        self, data: Labeled, parameters: P, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> list[Result]:
        """Run units that are alike. The results do not depend on which of them are run together, bit for bit."""
        return [self.run(data, parameters, unit, should_stop) for unit in units]

    def preview(self, data: Labeled, parameters: P, unit: Unit, result: Result) -> Preview | None:
        """A preview of the result of a unit, to show while the search goes on; None if there is nothing to show."""
        return None


@dataclass(frozen=True)
class LinearMap:
    """z = (x - offset) projection, with warnings for the card about how it was found."""

    projection: Array  # (d, k)
    offset: Array  # (d,)
    warnings: tuple[str, ...] = ()

    def of_features(self, center: Array, scale: Array, varying: npt.NDArray[np.intp]) -> LinearMap:
        """This map of standardized, varying features, converted to a map of the raw features."""
        projection, offset = np.zeros((len(center), self.projection.shape[1])), center.copy()
        projection[varying] = (1 / scale[varying])[:, None] * self.projection
        offset[varying] += scale[varying] * self.offset
        return LinearMap(projection, offset, self.warnings)


D = TypeVar("D", bound=DensityParameters)


class DirectMethod(Method[D]):
    """A method that finds its projection in a single unit of work.

    Most methods find the same directions in any orthonormal basis. With more features than rows, these get the rows in
    coordinates of the space that the rows span.
    """

    depends_on_axes: ClassVar[bool] = False  # whether it needs the features themselves as axes
    takes_blocks: ClassVar[bool] = False  # whether it needs only sums over the rows

    @abstractmethod
    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: D) -> LinearMap:
        """The linear map for rows X (n, d) with class codes 0..C-1."""

    def plan(self, data: Labeled, parameters: D, resamples: Resamples = (), name: str = "") -> Plan[Model]:
        if data.weights is not None:
            raise ValueError(f"{self.title} does not take sample weights; melm does.")
        if isinstance(data, LabeledBlocks) and not self.takes_blocks:
            raise ValueError(f"{self.title} needs all rows in memory: it cannot be computed block by block.")
        prepared = data.prepare(parameters.covariance, resamples)
        class_priors(parameters.priors, prepared.sizes)
        self.check(prepared, parameters)
        (result,) = yield Stage("projection", [Unit(f"{name}projection", {}, resamples)])
        if result is None:
            raise NothingFitted(f"The projection by {self.title} gave no result.")
        model = assemble(
            self.name,
            data,
            prepared,
            result["projection"],
            result["offset"],
            parameters.gamma,
            parameters.priors,
            resamples,
        )
        return replace(model, card=model.card.with_warnings(result["warnings"]))

    def run(self, data: Labeled, parameters: D, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        standardized = isinstance(parameters, StandardizedParameters) and parameters.standardize
        X, codes = data.training(unit.resamples)
        if isinstance(data, LabeledBlocks):
            found = self.project_blocks(data, unit.resamples, parameters, standardized)
        elif RowSpace.needed(X, *X.shape) and not self.depends_on_axes:
            found = self._project_in_row_space(X, codes, parameters, standardized)
        elif standardized:
            found = self._project_standardized(X, codes, parameters)
        else:
            found = self.project(X.astype(np.float64, copy=False), codes, parameters)
        return {"projection": found.projection, "offset": found.offset, "warnings": list(found.warnings)}

    def _project_standardized(self, X: npt.NDArray[Any], codes: npt.NDArray[np.intp], parameters: D) -> LinearMap:
        """The map of standardized features, converted to a map of the raw features."""
        scaled = ScaledRows.standardize(Taken(X))
        varying = np.flatnonzero(scaled.factor)
        found = self.project(scaled.columns(varying), codes, parameters)
        return found.of_features(scaled.offset, scaled.scale, varying)

    def _project_in_row_space(
        self, X: Matrix, codes: npt.NDArray[np.intp], parameters: D, standardized: bool
    ) -> LinearMap:
        """The map of coordinates in the space that the rows span, converted to a map of the features."""
        taken = Taken.of(X)
        scaled = ScaledRows.standardize(taken) if standardized else ScaledRows.center(taken)
        space = RowSpace.of(scaled, codes)
        found = self.project(space.coordinates, codes, parameters)
        projection = scaled.factor[:, None] * orient(space.to_features(found.projection))
        offset = scaled.offset + scaled.scale * space.to_features(found.offset[:, None])[:, 0]
        return LinearMap(projection, offset, found.warnings)

    def project_blocks(self, data: LabeledBlocks, resamples: Resamples, parameters: D, standardized: bool) -> LinearMap:
        """The linear map for rows beyond memory, for methods with `takes_blocks`."""
        raise NotImplementedError

    def check(self, prepared: PreparedRows, parameters: D) -> None:
        """Raise ValueError, before any work is done, if the method cannot fit these rows with these parameters."""
        if self.depends_on_axes and prepared.rows.is_sparse:
            raise ValueError(f"{self.title} takes dense rows only; these are sparse.")
        if isinstance(parameters, Parameters):
            check_dimensions(parameters.n_components, prepared)


class MomentMethod(DirectMethod[D]):
    """A method that needs only the mean and the covariance of each class."""

    takes_blocks = True

    @abstractmethod
    def project_moments(self, moments: FeatureMoments, parameters: D) -> LinearMap:
        """The linear map for classes with these moments."""

    def project_blocks(self, data: LabeledBlocks, resamples: Resamples, parameters: D, standardized: bool) -> LinearMap:
        moments = data.moments_of(resamples)
        found = self.project_moments(moments.by_feature(standardized=standardized), parameters)
        if not standardized:
            return found
        return found.of_features(moments.center, moments.scale, np.flatnonzero(moments.varying))


def random_state(seed: int) -> Any:
    """The legacy generator that scikit-learn takes, from a seed of any size."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
