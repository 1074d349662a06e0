"""The door: labelled data and options are checked here, once, with errors that name what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets


def check_labels(y: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Codes 0..C-1 of the labels, and the labels themselves in order."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed, got 1 class: {classes[0]!r}.")
    if counts.min() < 2:
        label = classes[counts.argmin()]
        raise ValueError(f"Every class needs at least 2 rows, class {label!r} has {counts.min()}.")
    return codes, classes


def check_labelled(
    X: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp], npt.NDArray[Any]]:
    """X as a float array (float32 stays so), class codes and classes."""
    X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X")
    check_consistent_length(X, y)
    codes, classes = check_labels(y)
    return X, codes, classes


def check_option(name: str, value: object, allowed: Sequence[str]) -> None:
    """A choice among words."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}.")


def check_whole(name: str, value: object, least: int) -> int:
    """A whole number with a lower bound."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(value)


def check_positive(name: str, value: object) -> float:
    """A finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(value) or value <= 0:
        raise ValueError(f"{name}={value!r} must be a finite number above 0.")
    return float(value)


def check_components(n_components: object, n_features: int) -> int:
    """k, between 1 and the number of features."""
    k = check_whole("n_components", n_components, 1)
    if k > n_features:
        raise ValueError(f"n_components={k} is larger than the number of features, {n_features}.")
    return k
