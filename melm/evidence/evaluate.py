"""Scores of classifiers: balanced accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.density import ClassDensities
from melm.typing import Array

JUDGED_ROWS = 4096  # rows in a leave-one-out score; larger datasets are sampled evenly


def balanced_accuracy(
    codes: npt.NDArray[Any], predicted: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None = None
) -> float:
    """Mean over the classes of their recall, the weighted share of their rows that is predicted correctly."""
    counts = np.ones(len(codes)) if weights is None else weights
    members = [codes == code for code in np.unique(codes)]
    return float(np.mean([np.average(predicted[own] == codes[own], weights=counts[own]) for own in members]))


def leave_one_out_balanced_accuracy(densities: ClassDensities) -> float:
    """Leave-one-out balanced accuracy of the density classifier on its own rows."""
    n_rows = sum(len(rows) for rows in densities.rows)
    share = min(1.0, JUDGED_ROWS / n_rows)
    members = [
        np.linspace(0, len(rows) - 1, max(2, round(share * len(rows)))).astype(np.intp) for rows in densities.rows
    ]
    codes, posteriors = densities.leave_one_out(members)
    if densities.weights is None:
        return balanced_accuracy(codes, posteriors.argmax(axis=1))
    weights = np.concatenate([own[chosen] for own, chosen in zip(densities.weights, members, strict=True)])
    return balanced_accuracy(codes, posteriors.argmax(axis=1), weights)


def sample_balanced_accuracy(densities: ClassDensities, rows: list[Array], counts: Sequence[int]) -> float:
    """The same for a sample of rows (C of (m_c, k)), with densities that were made of `counts` rows of each class."""
    share = min(1.0, JUDGED_ROWS / sum(map(len, rows)))
    judged = [own[np.linspace(0, len(own) - 1, max(2, round(share * len(own)))).astype(np.intp)] for own in rows]
    weights = [np.full(len(own), 1 / count) for own, count in zip(judged, counts, strict=True)]
    codes, posteriors = densities.leave_out(judged, weights)
    return balanced_accuracy(codes, posteriors.argmax(axis=1))
