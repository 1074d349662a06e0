"""Visual separability: how well the classes can be distinguished in a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.comparison.classifiers import GRIDS, ClassifierName, train
from melm.data.labeled import Labeled, check_whole
from melm.evidence.evaluate import balanced_accuracy
from melm.evidence.validation import Validation


@dataclass(frozen=True)
class Separability:
    """Cross-validated balanced accuracy of three classifiers on projected rows."""

    svm: float
    knn: float
    kde: float

    @property
    def mean(self) -> float:
        """The score: the mean of the three."""
        return (self.svm + self.knn + self.kde) / 3


def visual_separability(Z: npt.ArrayLike, y: npt.ArrayLike, *, folds: int = 5, seed: int = 0) -> Separability:
    """The paper's score of a picture: balanced accuracy of SVM with RBF kernel, KNN and KDE over folds of its points.

    Z are rows (n, k) projected by a map that was fitted to all of them, labels included. So the score tells how well
    the picture separates these rows, not how well it separates new ones: use `pipeline_score` for that. Classifiers are
    trained on the training rows of each fold, with fixed settings (the first of their grids).
    """
    data = Labeled.check(Z, y)
    points = data.X.astype(np.float64, copy=False)
    splits = [fold.split(data.codes) for fold in Validation(check_whole("folds", folds, 2)).splits(data, seed)]

    def score(name: ClassifierName) -> float:
        scores = []
        for shown, hidden in splits:
            classify = train(name, points[shown], data.codes[shown], GRIDS[name][0])
            scores.append(balanced_accuracy(data.codes[hidden], classify(points[hidden])))
        return float(np.mean(scores))

    return Separability(svm=score("svm"), knn=score("knn"), kde=score("kde"))
