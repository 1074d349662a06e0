"""Stability of the projection: how far it changes in fits to bootstrap samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from melm.data.labeled import Labeled
from melm.model import Model
from melm.model.card import BootstrapPercentiles, Cosine, Stability
from melm.typing import Array

INTERVAL = (2.5, 97.5)  # percentiles


def describe_stability(data: Labeled, model: Model, redrawn: Sequence[Model | None]) -> Stability | None:
    """How close the subspaces of bootstrap fits are to the model's, and percentiles of their loadings and correlations.

    Closeness is measured on the projected rows (canonical correlations), so that the scales of the features do not
    matter: 1 if a direction was found again, 0 if it was lost completely.
    """
    found = [other for other in redrawn if other is not None]
    if not found:
        return None
    spread, shown = data.spread, _centered(model.transform(data.X))
    elsewhere = [_centered(other.transform(data.X)) for other in found]
    cosines = np.array([subspace_cosines(shown, Z) for Z in elsewhere])
    listed = model.card.feature_positions or slice(None)
    aligned = [
        other.projection @ np.linalg.lstsq(Z, shown, rcond=None)[0] for other, Z in zip(found, elsewhere, strict=True)
    ]
    return Stability(
        bootstraps=len(found),
        cosines=[
            Cosine(median=float(np.median(column)), low=float(np.percentile(column, INTERVAL[0])))
            for column in cosines.T
        ],
        loadings=_interval([spread.loadings(V)[listed] for V in aligned]),
        axis_correlations=_interval([spread.axis_correlations(V)[listed] for V in aligned]),
    )


def subspace_cosines(Z: Array, other: Array) -> Array:
    """Cosines of the principal angles between two projections of the same centered rows, largest first."""
    left, right = np.linalg.qr(Z)[0], np.linalg.qr(other)[0]
    cosines: Array = np.clip(np.linalg.svd(left.T @ right)[1], 0, 1)
    return cosines


def _centered(Z: Array) -> Array:
    centered: Array = Z - Z.mean(axis=0)
    return centered


def _interval(values: list[Array]) -> BootstrapPercentiles:
    low, high = np.percentile(np.stack(values), INTERVAL, axis=0)
    return BootstrapPercentiles(low=low.tolist(), high=high.tolist())
