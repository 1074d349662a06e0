"""The result of a fit: a linear map, the densities of the projected classes, and a card that describes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks
from melm.data.taken import TakenSparse, is_sparse
from melm.density import ClassDensities
from melm.model.card import Card
from melm.tables.encoding import Encoder
from melm.typing import Array, Matrix, ShouldStop, never

SMALLER_BLOCKS = 16  # than usual, so that a block and its difference from the offset stay in the cache


@dataclass(frozen=True)
class HeldOutRows:
    """Held-out rows for the picture, as placed and classified by the fits of their folds."""

    positions: Array  # (m, k), in the model's coordinates
    codes: npt.NDArray[np.intp]  # (m,), of the true class
    predicted: npt.NDArray[np.intp]  # (m,)
    rows: npt.NDArray[np.intp] | None = None  # (m,), indices of training rows; version 0.1 did not store them


@dataclass(frozen=True, repr=False)
class Model:
    """z = (x - offset) projection, and a density of z for each class."""

    method: str
    projection: Array  # (d, k)
    offset: Array  # (d,)
    classes: npt.NDArray[Any]  # (C,), labels as they were given, in order
    densities: ClassDensities
    feature_names: list[str] | None
    card: Card
    held_out: HeldOutRows | None = None  # where the fit was validated
    encoder: Encoder | None = None  # from rows of a table with missing values or categories to rows of X
    id_name: str | None = None  # the column of row ids in the table
    all_loadings: Array | None = None  # (d, k), if the card lists only the largest

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns of a row: the features themselves if there is no encoder."""
        if self.encoder is not None:
            return [column.name for column in self.encoder.columns]
        return self.feature_names or [f"x{j}" for j in range(len(self.projection))]

    @property
    def features(self) -> list[str]:
        """The names of the features, in the order of the rows of the projection."""
        return self.columns if self.encoder is None else self.encoder.features

    @property
    def standardized_loadings(self) -> Array:
        """How far a standard deviation of each feature moves a row, in standard deviations of the axes (d, k)."""
        return np.array(self.card.loadings) if self.all_loadings is None else self.all_loadings

    @property
    def sources(self) -> list[list[int]]:
        """The features that came from each column of the table; a column is one feature where there is no encoder."""
        return [[j] for j in range(len(self.projection))] if self.encoder is None else self.encoder.sources

    def transform(self, X: Matrix) -> Array:
        """Rows in the projected space (n, k)."""
        if is_sparse(X):
            return TakenSparse(X).project(self.projection, self.offset)
        parts: list[Array] = [
            (X[block] - self.offset) @ self.projection for block in blocks(len(X), X.shape[1] * 8 * SMALLER_BLOCKS)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.projection.shape[1])), *parts])

    def predict(self, X: Matrix, should_stop: ShouldStop = never) -> npt.NDArray[Any]:
        """The most probable label of each row. It and the next two raise `Stopped` soon after `should_stop` is true."""
        labels: npt.NDArray[Any] = self.classes[self.densities.most_probable(self.transform(X), should_stop)]
        return labels

    def predict_proba(self, X: Matrix, should_stop: ShouldStop = never) -> Array:
        """P(class | row), columns in the order of `classes`."""
        probabilities: Array = np.exp(self.densities.log_posteriors(self.transform(X), should_stop))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def log_density(self, X: Matrix, should_stop: ShouldStop = never) -> Array:
        """log density of all classes together at each row: low where a row is far from all training data."""
        return self.densities.log_density(self.transform(X), should_stop)

    def loadings(self) -> Any:
        """The standardized loadings as a pandas DataFrame: a row for each feature, a column for each axis."""
        from melm.model import frames

        return frames.loadings(self)

    def axis_correlations(self) -> Any:
        """The correlations of the features that the card lists with the axes, as a pandas DataFrame."""
        from melm.model import frames

        return frames.axis_correlations(self)

    def importance(self) -> Any:
        """The permutation importance of the columns as a pandas DataFrame. Needs a validated fit."""
        from melm.model import frames

        return frames.importance(self)

    def confusion(self) -> Any:
        """The confusion matrix of the held-out rows as a pandas DataFrame. Needs a validated fit."""
        from melm.model import frames

        return frames.confusion(self)

    def starts(self) -> Any:
        """Every start of the search, or every path, as a pandas DataFrame."""
        from melm.model import frames

        return frames.starts(self)

    def plot(self, X: Matrix | None = None, y: npt.ArrayLike | None = None, **options: Any) -> Any:
        """Draw the model; see `melm.plot`."""
        from melm.model.display import plot

        return plot(self, X, y, **options)

    def __repr__(self) -> str:
        from melm.model import summary

        return summary.as_text(self)

    def _repr_html_(self) -> str:
        from melm.model import summary

        return summary.as_html(self)
