"""What one fold gave: a line of the tidy CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from melm.comparison.classifiers import ClassifierName

CLASSIFIERS: tuple[ClassifierName, ...] = ("svm", "knn", "kde")


@dataclass(frozen=True)
class FoldScore:
    """Balanced accuracy of the three classifiers on the rows of one fold."""

    repeat: int
    fold: int
    parameters: str  # of the projection
    svm: float
    knn: float
    kde: float
    believed: str = ""  # the classifier that inner folds have chosen, where one was to be chosen

    @classmethod
    def of(
        cls,
        repeat: int,
        fold: int,
        parameters: Mapping[str, Any],
        scores: Mapping[ClassifierName, float],
        believed: str = "",
    ) -> FoldScore:
        """The same from scores by classifier."""
        cell = " ".join(f"{name}={value}" for name, value in parameters.items())
        return cls(repeat, fold, cell, scores["svm"], scores["knn"], scores["kde"], believed)
