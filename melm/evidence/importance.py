"""Permutation importance: what is lost when a column is shuffled among the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from melm.data.labeled import Labeled
from melm.data.taken import is_sparse
from melm.evidence.card import strongest
from melm.evidence.evaluate import balanced_accuracy
from melm.model import Model
from melm.model.card import Importance
from melm.objective.divergence import SPECTRAL_COMPONENTS, Divergence
from melm.plan import Fold
from melm.typing import Array, Matrix

MAX_COLUMNS = 200  # with the largest loadings
MAX_ROWS = 20_000  # training rows, for the divergence
MAX_KERNELS = 2e8  # kernels summed for the held-out accuracy of all features


def describe_importance(
    data: Labeled, model: Model, splits: Sequence[Fold], fold_models: Sequence[Model | None]
) -> Importance | None:
    """The drop of the divergence and of the held-out balanced accuracy for each column; None with many components."""
    if model.projection.shape[1] > SPECTRAL_COMPONENTS:
        return None
    judged = strongest(model.standardized_loadings, model.sources, MAX_COLUMNS)
    more = len(model.columns) - len(judged)
    return Importance(
        columns=[model.columns[index] for index in judged],
        divergence_drop=_divergence_drops(data, model, judged),
        balanced_accuracy_drop=_accuracy_drops(data, splits[: splits[0].n_folds], fold_models, judged),
        **({"n_more_columns": more} if more else {}),
    )


def _divergence_drops(data: Labeled, model: Model, judged: Sequence[int]) -> list[float]:
    """The drop for each column. Shuffling a feature moves the projected rows along its row of the projection."""
    rows = _even(len(data.codes), MAX_ROWS)
    X, codes, gamma = data.X[rows], data.codes[rows], model.card.gamma
    Z = model.transform(X)
    k = Z.shape[1]

    weights = None if data.weights is None else data.weights[rows]

    def divergence(projected: Array) -> float:
        objective = Divergence(
            projected, codes, n_components=k, gamma=gamma, covariance="empirical", sample_weight=weights
        )
        return objective.value(np.eye(k))

    whole = divergence(Z)
    order = np.random.default_rng(0).permutation(len(codes))
    return [whole - divergence(Z + shift) for shift in _shifts(X, order, model, judged)]


def _accuracy_drops(
    data: Labeled, splits: Sequence[Fold], models: Sequence[Model | None], judged: Sequence[int]
) -> list[float]:
    fitted = [(fold, model) for fold, model in zip(splits, models, strict=False) if model is not None]
    drops = []
    for fold, model in fitted:
        X, codes = data.held_out((fold,))
        n_kernels = sum(len(rows) for rows in model.densities.rows)
        rows = _even(len(codes), max(50, int(MAX_KERNELS / (n_kernels * len(judged) * len(fitted)))))
        weights = data.held_out_weights((fold,))
        weights = None if weights is None else weights[rows]
        X, codes, Z = X[rows], codes[rows], model.transform(X[rows])
        order = np.random.default_rng(0).permutation(len(codes))

        def accuracy(
            projected: Array,
            model: Model = model,
            codes: npt.NDArray[np.intp] = codes,
            weights: Array | None = weights,
        ) -> float:
            return balanced_accuracy(codes, model.densities.most_probable(projected), weights)

        whole = accuracy(Z)
        drops.append([whole - accuracy(Z + shift) for shift in _shifts(X, order, model, judged)])
    averaged: list[float] = np.mean(drops, axis=0).tolist()
    return averaged


def _shifts(X: Matrix, order: npt.NDArray[np.intp], model: Model, judged: Sequence[int]) -> Iterator[Array]:
    """The shift of the projected rows (n, k) when one of the judged columns is shuffled, for each of these in turn."""
    sources = model.sources
    for J in (sources[index] for index in judged):
        columns = X[:, J].toarray() if is_sparse(X) else X[:, J]
        yield (columns[order] - columns) @ model.projection[J]


def _even(n_rows: int, at_most: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, n_rows - 1, min(n_rows, at_most)).astype(np.intp)
