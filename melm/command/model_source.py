"""A model that commands can ask: in a file on this machine, or on a service."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from melm.command.failure import say

if TYPE_CHECKING:
    from melm.command.table_file import TableFile


class ModelSource(Protocol):
    """What commands ask of a model, wherever it is."""

    id: str

    def answer(self, question: str, file: TableFile, media_type: str) -> bytes:
        """What the model says to `predict` or `transform` about the rows of a file."""

    def score(self, file: TableFile) -> dict[str, Any]:
        """How well the model does on labeled rows."""

    def plot(self) -> str:
        """A drawing, as SVG."""


def say_warnings(warnings: Sequence[str]) -> None:
    """What is worth knowing and no reason to stop, on standard error."""
    for warning in warnings:
        say(warning)


def open_model(options: argparse.Namespace) -> ModelSource:
    """The model that `options` name."""
    if options.url is None:
        from melm.command.local_model import LocalModel

        return LocalModel(options.model)
    from melm.command.service_model import ServiceModel

    return ServiceModel(options.url, options.model)
