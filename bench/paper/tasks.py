"""The pieces of work of a run: each knows its data set, gives JSON values, and can run in any process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from bench.paper import paper_like, strict
from bench.paper.data_sets import DataSet
from bench.paper.entrants import Entrant
from melm import MELM
from melm.comparison.classifiers import Codes

Result: TypeAlias = list[Any]
Labels: TypeAlias = Literal["true", "shuffled"]
TableName: TypeAlias = Literal["separability", "pipeline", "held-out"]
Protocol: TypeAlias = Literal["strict", "paper-like"]

SHUFFLE_SEED = 0
STARTS_AT_ONCE = 50


@dataclass(frozen=True)
class Task(ABC):
    """One piece of work."""

    data_set: str

    @abstractmethod
    def run(self, data: DataSet) -> Result:
        """Do it."""

    def describe(self) -> dict[str, Any]:
        """All that the result depends on, but for the data and the code."""
        return {"task": type(self).__name__, **asdict(self)}


@dataclass(frozen=True)
class Scored(Task):
    """A task that scores folds, and where in the tables they belong."""

    table: ClassVar[TableName]
    protocol: ClassVar[Protocol]

    entrant: Entrant
    labels: Labels


@dataclass(frozen=True)
class StrictSeparability(Scored):
    """Table 3 of one data set and entrant."""

    table = "separability"
    protocol = "strict"

    repeats: int

    def run(self, data: DataSet) -> Result:
        scores = strict.separability(data.X, _labeled(data, self.labels), self.entrant, self.repeats)
        return [asdict(score) for score in scores]


@dataclass(frozen=True)
class HeldOut(Scored):
    """One fold of the scores on new rows."""

    table = "held-out"
    protocol = "strict"

    repeat: int
    fold: int

    def run(self, data: DataSet) -> Result:
        codes = _labeled(data, self.labels)
        return [asdict(strict.held_out(data.X, codes, self.entrant, self.repeat, self.fold))]


@dataclass(frozen=True)
class StrictPipeline(Scored):
    """One fold of table 2."""

    table = "pipeline"
    protocol = "strict"

    repeat: int
    fold: int

    def run(self, data: DataSet) -> Result:
        codes = _labeled(data, self.labels)
        return [asdict(strict.pipeline(data.X, codes, self.entrant, self.repeat, self.fold))]


@dataclass(frozen=True)
class PaperLikeSeparability(Scored):
    """Table 3 of one data set, entrant and random subset."""

    table = "separability"
    protocol = "paper-like"

    repeat: int

    def run(self, data: DataSet) -> Result:
        scores = paper_like.separability(data.X, _labeled(data, self.labels), self.entrant, self.repeat)
        return [asdict(score) for score in scores]


@dataclass(frozen=True)
class PaperLikePipeline(Scored):
    """One fold of table 2."""

    table = "pipeline"
    protocol = "paper-like"

    repeat: int
    fold: int

    def run(self, data: DataSet) -> Result:
        scores = paper_like.pipeline(data.X, _labeled(data, self.labels), self.entrant, self.repeat, self.fold)
        return [asdict(score) for score in scores]


@dataclass(frozen=True)
class Starts(Task):
    """The divergence that random starts of MELM reach, each climbed to its end."""

    seed: int

    def run(self, data: DataSet) -> Result:
        informed = len(np.unique(data.codes)) + 1
        estimator = MELM(regularization=None, n_starts=informed + STARTS_AT_ONCE, race=False, random_state=self.seed)
        return [start.divergence for start in estimator.fit(data.X, data.codes).starts_[informed:]]


@dataclass(frozen=True)
class Picture(Task):
    """The rows as an entrant shows them."""

    entrant: Entrant

    def run(self, data: DataSet) -> Result:
        parameters = strict.choose(data.X, data.codes, self.entrant, seed=0)
        Z = strict.project(self.entrant, parameters, data.X, data.codes, data.X)
        rows: list[Any] = Z.tolist()
        return rows


def _labeled(data: DataSet, labels: Labels) -> Codes:
    """The labels, or as many of each in another order: nothing is left to be found."""
    return data.codes if labels == "true" else np.random.default_rng(SHUFFLE_SEED).permutation(data.codes)
