"""Coordinates in which the pooled within-class covariance is the identity.

This changes the coordinates, not the objective: the class covariances are estimated before and transformed as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from melm.data.covariance import ClassMoments
from melm.typing import Array

FLOOR = 1e-8  # smallest spread of a class relative to the pooled one, and of the pooled one relative to the total


@dataclass(frozen=True)
class Whitening:
    """Maps between projections of standardized features (d, k) and of whitened ones (r, k)."""

    to_features: Array  # (d, r): V = to_features @ V_white
    from_features: Array  # (r, d): V_white = from_features @ V, for V up to directions without any variance
    covariances: Array  # (C, r, r), of the classes in whitened coordinates
    means: Array  # (C, r)
    floored: tuple[bool, ...]  # per class: whether its covariance was raised to the floor in some direction
    # (C, 2): factors of the empirical covariance and of to_features^T to_features in the covariances; None if raised.
    mixture: Array | None = None


def whiten(moments: Sequence[ClassMoments]) -> Whitening:
    """Whitening from the moments of the classes.

    Only directions without any total variance are dropped. A direction without variance inside the classes may separate
    them perfectly, so its spread is floored instead. Whitening is unique up to a rotation, which is fixed by the
    covariance of the first class, and its signs by the mean of that class, so that the coordinates are invariant to
    affine maps of the features.
    """
    n_rows = sum(m.n_rows for m in moments)
    shares = np.array([m.n_rows / n_rows for m in moments])
    means = np.stack([m.mean for m in moments])  # (C, d)
    centered = means - shares @ means
    between = (shares[:, None] * centered).T @ centered
    measured = sum(share * m.empirical for share, m in zip(shares, moments, strict=True)) + between
    within = sum(share * m.covariance for share, m in zip(shares, moments, strict=True))

    spread, axes = np.linalg.eigh(measured)
    kept = axes[:, spread > max(n_rows, len(spread)) * np.finfo(float).eps * spread[-1]]  # (d, r)
    to_total, from_total = _whiten_matrix(kept.T @ (within + between) @ kept)
    measured_within = to_total.T @ (kept.T @ within @ kept) @ to_total
    lifted_within, no_spread = lift(measured_within, FLOOR)
    to_within, from_within = _whiten_matrix(lifted_within)
    forward = kept @ to_total @ to_within
    rotation = np.linalg.eigh(forward.T @ moments[0].covariance @ forward)[1][:, ::-1]
    rotation = rotation * np.where((centered[0] @ forward) @ rotation < 0, -1.0, 1.0)
    forward = forward @ rotation
    # Where no class has any spread, all get the floor of the pooled one; elsewhere each is raised on its own.
    given = (to_within @ rotation).T @ (lifted_within - measured_within) @ (to_within @ rotation)
    lifted = [lift(forward.T @ m.covariance @ forward + given, FLOOR) for m in moments]
    return Whitening(
        to_features=forward,
        from_features=rotation.T @ from_within @ from_total @ kept.T,
        covariances=np.stack([covariance for covariance, _ in lifted]),
        means=centered @ forward,
        floored=tuple(no_spread or own for _, own in lifted),
        mixture=None if no_spread or any(own for _, own in lifted) else np.array([(m.share, m.noise) for m in moments]),
    )


def _whiten_matrix(covariance: Array) -> tuple[Array, Array]:
    """A with A^T covariance A = I, and its inverse."""
    spread, axes = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(spread, np.finfo(float).tiny))
    return axes / root, (axes * root).T


def _is_above(covariance: Array, floor: float) -> bool:
    """Whether all spreads are above the floor, at a small part of the cost of computing them."""
    try:
        np.linalg.cholesky(covariance - floor * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        return False
    return True


def lift(covariance: Array, floor: float) -> tuple[Array, bool]:
    """The covariance with spreads below the floor raised to it, and whether there were any; else exactly itself."""
    if _is_above(covariance, floor):
        return covariance, False
    spread, axes = np.linalg.eigh(covariance)
    low = spread < floor
    if not low.any():
        return covariance, False
    lifted: Array = covariance + (axes[:, low] * (floor - spread[low])) @ axes[:, low].T
    return lifted, True
