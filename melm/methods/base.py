"""What a projection method is: a name, a parameter model, and a plan that ends in a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from melm.fitting import assemble
from melm.labelled import Labelled
from melm.model import Model
from melm.plan import Fold, NothingFitted, Plan, Result, Stage, Unit, training_rows
from melm.rows import Array

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class Parameters(BaseModel):
    """What every method takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_components: int = Field(2, ge=1, description="Dimensions of the projection.")
    covariance: Literal["ledoit_wolf", "empirical"] = Field("ledoit_wolf", description="Covariance of a class.")
    priors: Literal["balanced", "empirical"] | list[Share] = Field(
        "balanced", description="Class probabilities of the classifier."
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of everything random: equal seeds give equal models.")


class DirectParameters(Parameters):
    """What every method takes whose projection does not depend on the kernel width."""

    gamma: PositiveNumber = Field(1.0, description="Scale of Silverman's kernel width, of the classifier.")


P = TypeVar("P", bound=Parameters)


class Method(ABC, Generic[P]):
    """A projection method. It keeps no state: all of a fit is in the data, the parameters and the results of units."""

    name: ClassVar[str]
    title: ClassVar[str]  # for people
    orthonormal: ClassVar[bool]  # are the columns of its projections orthonormal?
    Parameters: type[P]

    @abstractmethod
    def plan(self, data: Labelled, parameters: P, folds: tuple[Fold, ...] = (), name: str = "") -> Plan[Model]:
        """The fit on the rows that the folds leave; `name` begins the names of its units."""

    @abstractmethod
    def run(self, data: Labelled, parameters: P, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan."""


@dataclass(frozen=True)
class LinearMap:
    """z = (x - offset) projection."""

    projection: Array  # (d, k)
    offset: Array  # (d,)


C = TypeVar("C", bound=DirectParameters)


class DirectMethod(Method[C]):
    """A method that finds its projection in one go: one unit of work."""

    @abstractmethod
    def project(self, X: Array, codes: npt.NDArray[np.intp], parameters: C) -> LinearMap:
        """The linear map for rows X (n, d) with class codes 0..C-1."""

    def plan(self, data: Labelled, parameters: C, folds: tuple[Fold, ...] = (), name: str = "") -> Plan[Model]:
        (result,) = yield Stage("projection", [Unit(f"{name}projection", {}, folds)])
        if result is None:
            raise NothingFitted(f"The projection by {self.title} gave no result.")
        problem = data.problem(parameters.covariance, folds)
        return assemble(
            self.name,
            data,
            problem,
            result["projection"],
            result["offset"],
            parameters.gamma,
            parameters.priors,
            facts={},
        )

    def run(self, data: Labelled, parameters: C, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        rows = training_rows(unit.folds, data.codes)
        found = self.project(data.X[rows].astype(np.float64, copy=False), data.codes[rows], parameters)
        return {"projection": found.projection, "offset": found.offset}
