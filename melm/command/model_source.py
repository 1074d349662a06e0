"""A model that commands can ask: in a file on this machine, or on a service."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from melm.command.failure import say

if TYPE_CHECKING:
    from melm.command.table_file import TableFile
    from melm.typing import AnyArray
    from service.intake.formats import NamedArrays


@dataclass(frozen=True)
class Columns:
    """What stands beside each predicted label."""

    probabilities: bool
    log_density: bool


class ModelSource(Protocol):
    """What commands ask of a model, wherever it is."""

    id: str

    def describe(self) -> dict[str, Any]:
        """What it says of itself."""

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """What the model says to `predict` or `transform` about the rows of a file."""

    def predict(self, file: TableFile, media_type: str, columns: Columns) -> bytes:
        """Labels, and beside each what else is asked for."""

    def score(self, file: TableFile) -> dict[str, Any]:
        """How well the model does on labeled rows."""

    def plot(self) -> str:
        """A drawing, as SVG."""

    def plotted(self) -> dict[str, Any]:
        """What it shows, as numbers."""

    def report(self) -> str:
        """The card as an HTML document."""


def say_warnings(warnings: Sequence[str]) -> None:
    """What is worth knowing and no reason to stop, on standard error."""
    for warning in warnings:
        say(warning)


def beside(
    id: str, predictions: AnyArray, classes: AnyArray, probabilities: AnyArray | None, log_density: AnyArray | None
) -> NamedArrays:
    """Labels, the probability of each class, and the log density, row by row."""
    from service.intake.formats import NamedArrays

    arrays, columns = {"predictions": predictions}, ["prediction"]
    if probabilities is not None:
        arrays |= {"probabilities": probabilities, "classes": classes}
        columns += map(str, classes.tolist())
    if log_density is not None:
        arrays["log_density"] = log_density
        columns.append("log_density")
    return NamedArrays(arrays, tuple(columns), id)


def open_model(options: argparse.Namespace) -> ModelSource:
    """The model that `options` name."""
    if options.url is None:
        from melm.command.local_model import LocalModel

        return LocalModel(options.model)
    from melm.command.service_model import ServiceModel

    return ServiceModel(options.url, options.model)
