from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from melm.comparison import pipeline_score as module
from melm.comparison.classifiers import GRIDS, ClassifierName
from melm.comparison.pipeline_score import pipeline_score
from melm.methods import fit
from tests.melm.samples import Array, blobs, mixture


@pytest.mark.parametrize("classifier", ["svm", "knn", "kde"])
def test_distant_classes_are_told_apart_on_new_rows(classifier: ClassifierName) -> None:
    X, y = blobs(12.0, n_rows=60)
    score = pipeline_score("lda", X, y, classifier=classifier, folds=3)
    assert score.mean == 1
    assert score.interval == (1, 1)
    assert all(choice.settings in GRIDS[classifier] for choice in score.choices)


def test_pure_noise_scores_like_chance_though_its_picture_looks_separable() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((80, 60)), np.arange(80) % 2
    assert (fit("lda", X, y, covariance="empirical").predict(X) == y).mean() > 0.85
    score = pipeline_score("lda", X, y, covariance="empirical", folds=4)
    low, high = score.interval
    assert low < 0.5 < high


def test_repeats_give_more_scores_and_a_narrower_interval() -> None:
    X, y = mixture([30, 30], 3)
    once, more = (pipeline_score("pca", X, y, folds=3, repeats=repeats) for repeats in (1, 4))
    assert len(once.scores) == 3
    assert len(more.scores) == len(more.choices) == 12
    assert np.diff(more.interval) < np.diff(once.interval)
    assert more.interval[0] <= more.mean <= more.interval[1]
    assert more.scores[:3] == once.scores


def test_nothing_is_fitted_or_chosen_on_the_rows_of_the_test_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other labels on the test rows of the first fold change neither fits nor choices of that fold."""
    X, y = mixture([24, 24], 3)
    fitted: list[Array] = []

    def watch(name: str, X: Array, y: Array, **parameters: Any) -> Any:
        fitted.append(X)
        return fit(name, X, y, **parameters)

    monkeypatch.setattr(module, "fit", watch)
    pipeline_score("gem", X, y, classifier="knn", folds=3, inner_folds=2)
    n_fits = 2 * 4 + 1  # four ridges in two inner folds, then the chosen one
    assert len(fitted) == 3 * n_fits
    for fold in range(3):
        *inner, outer = fitted[fold * n_fits : (fold + 1) * n_fits]
        shown = {row.tobytes() for row in outer}
        assert len(shown) == 32
        assert all({row.tobytes() for row in rows} < shown for rows in inner)


def test_the_better_parameter_is_chosen() -> None:
    """Classes on both sides of a ring: one wide kernel cannot see them, a narrow one can."""
    generator = np.random.default_rng(0)
    angles, y = generator.uniform(0, 2 * np.pi, 300), np.arange(300) % 2
    X = (1 + 0.6 * y)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    X += 0.08 * generator.standard_normal(X.shape)
    score = pipeline_score("identity", X, y, classifier="kde", folds=3)
    assert all(choice.settings["gamma"] < 1 for choice in score.choices)
    assert score.mean > 0.95


def test_melm_chooses_its_kernel_width_unless_told() -> None:
    X, y = mixture([20, 20], 2)
    free = pipeline_score(
        "melm", X, y, grid={"gamma": [0.5, 2.0]}, folds=2, inner_folds=2, regularization=None, n_starts=1
    )
    assert {choice.parameters["gamma"] for choice in free.choices} <= {0.5, 2.0}
    told = pipeline_score("melm", X, y, grid={}, gamma=1.3, folds=2, inner_folds=2, regularization=None, n_starts=1)
    assert all(choice.parameters == {} for choice in told.choices)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"method": "tsne"}, "method='tsne'"),
        ({"classifier": "tree"}, "classifier='tree'"),
        ({"folds": 1}, "folds=1"),
        ({"inner_folds": 1}, "inner_folds=1"),
        ({"repeats": 0}, "repeats=0"),
        ({"y": [0, 0, 0, 1] * 3}, "at least 4 rows of every class, the smallest has 3"),
        ({"no": 1}, "no"),
    ],
)
def test_bad_input_is_refused_by_name(bad: dict[str, Any], message: str) -> None:
    X, y = mixture([6, 6], 3)
    with pytest.raises(ValueError, match=message):
        pipeline_score(**({"method": "pca", "X": X, "y": y} | bad))
