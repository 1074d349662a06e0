"""Is one method better than another? A paired test over datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """The result of a paired test, with one pair of scores for each dataset."""

    wins: int
    ties: int
    losses: int
    median_difference: float
    p_value: float  # of Wilcoxon's signed-rank test, two-sided


def compare(scores: Sequence[float], others: Sequence[float]) -> Comparison:
    """Compare the scores of two methods on the same datasets, in the same order.

    Pass one score for each dataset, never one for each fold: folds of one dataset are not independent.
    """
    from scipy.stats import wilcoxon

    if len(scores) != len(others) or not scores:
        raise ValueError(f"Scores are compared in pairs, got {len(scores)} and {len(others)} of them.")
    differences = np.array(scores, dtype=np.float64) - np.array(others, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise ValueError("Scores must be finite numbers.")
    return Comparison(
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        median_difference=float(np.median(differences)),
        p_value=float(wilcoxon(differences).pvalue) if differences.any() else 1.0,
    )
