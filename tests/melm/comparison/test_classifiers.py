from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from melm.comparison.classifiers import GRIDS, ClassifierName, train
from melm.methods import fit
from tests.melm.samples import blobs, mixture

X, y = mixture([40, 30, 30], 2)
NAMES: tuple[ClassifierName, ...] = ("svm", "knn", "kde")


@pytest.mark.parametrize("name", NAMES)
def test_tells_distant_classes_apart_by_every_setting(name: ClassifierName) -> None:
    Z, codes = blobs(12.0, n_rows=90, n_features=1, n_classes=3)
    for settings in GRIDS[name]:
        assert (train(name, Z, codes, settings)(Z) == codes).all()


def test_without_a_choice_support_vectors_and_neighbors_are_those_of_scikit_learn() -> None:
    references = {
        "svm": make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
        "knn": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    }
    for name in NAMES[:2]:
        expected = references[name].fit(X, y).predict(X)
        assert (train(name, X, y, GRIDS[name][0])(X) == expected).all()


def test_densities_are_those_of_a_model() -> None:
    expected = fit("identity", X, y).predict(X)
    assert (train("kde", X, y, GRIDS["kde"][0])(X) == expected).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_scale_and_place_of_axes_do_not_matter(name: ClassifierName) -> None:
    moved = X * [1000, 0.01] + [5, -300]
    settings = GRIDS[name][0]
    assert (train(name, moved, y, settings)(moved) == train(name, X, y, settings)(X)).all()


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_without_spread_does_no_harm(name: ClassifierName) -> None:
    flat = np.column_stack([X[:, 0], np.ones(len(X))])
    assert np.isin(train(name, flat, y, GRIDS[name][0])(flat), [0, 1, 2]).all()
