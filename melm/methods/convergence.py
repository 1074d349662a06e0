"""Fits of scikit-learn estimators that may end before they converge."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.typing import Array


def fit_quietly(
    estimator: Any, X: Array, title: str, max_iterations: int, codes: npt.NDArray[np.intp] | None = None
) -> tuple[str, ...]:
    """Fit the estimator. If it does not converge, return a warning for the card, and do not show it on the screen."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, codes)
    if estimator.n_iter_ < max_iterations:
        return ()
    return (f"{title} did not converge within max_iterations={max_iterations}.",)
