"""The interface of commands to a model, in a file or on a service."""

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
    """The columns to add to predicted labels."""

    probabilities: bool
    log_density: bool


class ModelSource(Protocol):
    """A model, in a file or on a service."""

    id: str

    def describe(self) -> dict[str, Any]:
        """The model as a dict."""

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """The result of `predict` or `transform` for the rows of a file."""

    def predict(self, file: TableFile, media_type: str, columns: Columns) -> bytes:
        """Predicted labels, with the requested probabilities and densities."""

    def score(self, file: TableFile) -> dict[str, Any]:
        """Scores of the model on labeled rows."""

    def plot(self) -> str:
        """The plot as SVG."""

    def plotted(self) -> dict[str, Any]:
        """The data of the plot."""

    def report(self) -> str:
        """The card as an HTML document."""


def say_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on standard error."""
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
    """The model that the options name."""
    if options.url is None:
        from melm.command.local_model import LocalModel

        return LocalModel(options.model)
    from melm.command.service_model import ServiceModel

    return ServiceModel(options.url, options.model)
