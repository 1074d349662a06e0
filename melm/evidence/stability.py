"""Would other rows have given the same projection? Answers from fits to rows drawn anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from melm.data.labeled import Labeled
from melm.data.projection import axis_correlations, standardized_loadings
from melm.model import Model
from melm.model.card import Cosine, Spread, Stability
from melm.typing import Array

INTERVAL = (2.5, 97.5)  # percentiles


def describe_stability(data: Labeled, model: Model, redrawn: Sequence[Model | None]) -> Stability | None:
    """How near the subspaces of bootstrap fits are to the model's, and how far their loadings and correlations spread.

    Nearness is measured on the projected rows (canonical correlations), so that the features' scales do not matter: 1
    where a direction was found again, 0 where nothing of it was.
    """
    found = [other for other in redrawn if other is not None]
    if not found:
        return None
    covariance = np.cov(data.X, rowvar=False, bias=True).reshape(data.X.shape[1], -1)
    cosines = np.array([subspace_cosines(model.projection, other.projection, covariance) for other in found])
    aligned = [align(model.projection, other.projection, covariance) for other in found]
    return Stability(
        bootstraps=len(found),
        cosines=[
            Cosine(median=float(np.median(column)), low=float(np.percentile(column, INTERVAL[0])))
            for column in cosines.T
        ],
        loadings=_interval([standardized_loadings(V, covariance) for V in aligned]),
        axis_correlations=_interval([axis_correlations(V, covariance) for V in aligned]),
    )


def subspace_cosines(V: Array, W: Array, covariance: Array) -> Array:
    """Cosines of the principal angles between projected rows X V and X W, largest first."""
    root = _root(covariance)
    left, right = np.linalg.qr(root @ V)[0], np.linalg.qr(root @ W)[0]
    cosines: Array = np.clip(np.linalg.svd(left.T @ right)[1], 0, 1)
    return cosines


def align(V: Array, W: Array, covariance: Array) -> Array:
    """W A with the A that brings X W nearest to X V."""
    root = _root(covariance)
    aligned: Array = W @ np.linalg.lstsq(root @ W, root @ V, rcond=None)[0]
    return aligned


def _root(covariance: Array) -> Array:
    """R with R^T R = covariance."""
    spread, axes = np.linalg.eigh(covariance)
    root: Array = (axes * np.sqrt(np.maximum(spread, 0))).T
    return root


def _interval(values: list[Array]) -> Spread:
    low, high = np.percentile(np.stack(values), INTERVAL, axis=0)
    return Spread(low=low.tolist(), high=high.tolist())
