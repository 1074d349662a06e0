"""Weights of rows through a whole fit: densities, scores, folds and the choice of a kernel width."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import melm
from melm import MELM
from melm.data.labeled import Labeled
from melm.evidence.evaluate import balanced_accuracy
from melm.evidence.validation import Validation, judge
from melm.methods import METHODS
from melm.plan import Fold, run_plan
from melm.search.choice import balanced_scores, is_guessing, win_shares
from melm.tables.table import Table
from tests.melm.samples import Array, mixture

PLAIN: dict[str, Any] = {"regularization": None, "n_starts": 4, "random_state": 0}


def weighted() -> tuple[Array, npt.NDArray[Any], npt.NDArray[np.intp]]:
    X, y = mixture([40, 31, 25], 5)
    return X, y, np.random.default_rng(5).integers(0, 4, len(X))


@pytest.mark.parametrize("covariance", ["empirical", "ledoit_wolf"])
def test_a_fit_reaches_the_divergence_of_repeated_rows(covariance: melm.Covariance) -> None:
    X, y, weights = weighted()
    options = PLAIN | {"covariance": covariance, "priors": "empirical"}
    once = MELM(**options).fit(X, y, sample_weight=weights)
    often = MELM(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert once.divergence_ == pytest.approx(often.divergence_, abs=1e-6)
    np.testing.assert_allclose(once.predict_proba(X), often.predict_proba(X), atol=1e-3)
    assert once.score(X, y, sample_weight=weights) == often.score(np.repeat(X, weights, axis=0), np.repeat(y, weights))


@pytest.mark.parametrize("options", [{}, {"gamma": [0.7, 1.4]}, {"select_start_by": "balanced_accuracy"}])
def test_a_row_of_weight_zero_is_no_row(options: dict[str, Any]) -> None:
    X, y, weights = weighted()
    kept = weights > 0
    zero = MELM(**PLAIN, **options).fit(X, y, sample_weight=weights)
    absent = MELM(**PLAIN, **options).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(zero.projection_, absent.projection_)
    np.testing.assert_array_equal(zero.predict_proba(X), absent.predict_proba(X))
    ones = MELM(**PLAIN, **options).fit(X, y, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(ones.projection_, MELM(**PLAIN, **options).fit(X, y).projection_)


def test_weights_shift_a_path_too() -> None:
    X, y, _ = weighted()
    even, uneven = (
        MELM(regularization="path", n_starts=2, random_state=0).fit(X, y, sample_weight=own)
        for own in (np.ones(len(X)), 1.0 + 50 * (X[:, 0] > 0))
    )
    assert np.abs(even.projection_ - uneven.projection_).max() > 1e-3


def test_a_table_loses_the_rows_that_do_not_count() -> None:
    X, y, weights = weighted()
    groups = np.arange(len(X)) // 2
    data = Labeled.of_table(Table.of_numbers(X), y, groups, weights=weights)
    kept = weights > 0
    np.testing.assert_array_equal(data.X, X[kept])
    assert data.groups is not None
    assert data.weights is not None
    np.testing.assert_array_equal(data.groups, groups[kept])
    np.testing.assert_array_equal(data.weights, weights[kept])


def test_held_out_scores_go_by_weight_and_folds_keep_rows_whole() -> None:
    X, y, weights = weighted()
    data = Labeled.check(X, y, sample_weight=weights)
    splits = Validation(folds=3).splits(data, 0)
    method = METHODS["melm"]
    parameters = method.Parameters(regularization=None, n_starts=2)

    def fit(fold: Fold) -> Any:
        return run_plan(
            method.plan(data, parameters, (fold,)),
            lambda stage: [method.run(data, parameters, unit, lambda: False) for unit in stage.units],
        )

    models = [fit(fold) for fold in splits]
    held_out = judge(data, splits, models)
    assert held_out is not None
    rows, codes = data.held_out((splits[0],))
    own = data.held_out_weights((splits[0],))
    assert own is not None
    predicted = models[0].densities.most_probable(models[0].transform(rows))
    often = own.astype(int)
    expected = balanced_accuracy(np.repeat(codes, often), np.repeat(predicted, often))
    assert held_out.scores[0] == pytest.approx(expected)
    assert held_out.weighed.sum() == weights.sum()
    assert held_out.confusion.sum() == (weights > 0).sum()


def test_the_choice_among_candidates_goes_by_weight() -> None:
    logs = np.log(np.array([[0.9, 0.2], [0.1, 0.8], [0.9, 0.2], [0.1, 0.8]]))
    codes, weights = np.array([0, 0, 1, 1]), np.array([1.0, 9, 1, 9])
    repeated = np.repeat(np.arange(4), weights.astype(int))
    np.testing.assert_allclose(balanced_scores(logs, codes, weights), balanced_scores(logs[repeated], codes[repeated]))
    assert balanced_scores(logs, codes, weights).argmax() == 1
    assert win_shares(logs, codes, 0, weights)[1] > win_shares(logs, codes, 0)[1]
    assert is_guessing(logs[:, 0], codes, 0, weights)


def test_methods_without_weights_say_so() -> None:
    X, y, weights = weighted()
    data = Labeled.check(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="does not take sample weights"):
        next(METHODS["pca"].plan(data, METHODS["pca"].Parameters()))


@pytest.mark.parametrize(
    ("weights", "message"),
    [(-np.ones(96), "a weight is a finite number"), (np.full(96, np.nan), "is nan"), (np.zeros(96), "All weights")],
)
def test_bad_weights_are_refused(weights: Array, message: str) -> None:
    X, y, _ = weighted()
    with pytest.raises(ValueError, match=message):
        MELM(**PLAIN).fit(X, y, sample_weight=weights)
