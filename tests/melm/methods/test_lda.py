from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from melm.methods import METHODS, fit
from tests.melm.methods.definitions import assert_same_axes
from tests.melm.samples import blobs, mixture


@pytest.mark.parametrize("sizes", [[60, 40], [50, 30, 40], [30, 20, 40, 25]])
def test_equals_scikit_learn(sizes: list[int]) -> None:
    X, y = mixture(sizes, 5)
    k = min(2, len(sizes) - 1)
    reference = LinearDiscriminantAnalysis().fit(X, y).scalings_[:, :k]
    assert_same_axes(fit("lda", X, y, covariance="empirical").projection, reference)


def test_finds_the_axis_that_separates_and_scales_it_to_the_spread_inside_the_classes() -> None:
    X, y = blobs(5.0, n_rows=2000, n_features=4)
    X *= [3.0, 10, 1, 100]
    model = fit("lda", X, y, covariance="empirical")
    correlation = np.corrcoef(model.transform(X)[:, 0], X[:, 0])[0, 1]
    assert correlation > 0.999
    inside = np.mean([model.transform(X[y == label]).var() for label in (0, 1)])
    assert inside == pytest.approx(1)


def test_a_feature_equal_to_the_label_is_found() -> None:
    X, y = mixture([30, 30], 4)
    model = fit("lda", np.column_stack([X, y]), y, covariance="empirical")
    assert abs(model.projection[4, 0]) > 100 * np.abs(model.projection[:4, 0]).max()


def test_takes_as_many_components_as_there_are_up_to_two() -> None:
    for sizes, k in (([20, 20], 1), ([20, 20, 20], 2), ([20, 20, 20, 20], 2)):
        assert fit("lda", *mixture(sizes, 4)).projection.shape == (4, k)
    assert fit("lda", *mixture([20, 20, 20, 20], 4), n_components=3).projection.shape == (4, 3)


def test_more_components_than_it_has_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"2 classes in 4 dimensions has at most 1 components, got n_components=2\."):
        fit("lda", *mixture([20, 20], 4), n_components=2)
    field = METHODS["lda"].Parameters.model_json_schema()["properties"]["n_components"]
    assert "one fewer than there are classes" in field["description"]
