"""The estimator: scikit-learn's contract, what it finds, that it finds it again, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import melm
from melm import MELM
from melm.local import Progress
from melm.objective.divergence import WhitenedDivergence
from melm.objective.stack import DivergenceStack
from melm.search import race
from melm.search.climb import StoppingReason
from tests.melm.samples import Array, blobs, mixture, projection


def principal_cosines(A: Array, B: Array) -> Array:
    return np.linalg.svd(np.linalg.qr(A)[0].T @ np.linalg.qr(B)[0])[1]


def test_scikit_learns_own_checks_pass_and_none_is_skipped() -> None:
    """In a process of its own: the checks of array types want a variable set before scipy is loaded."""
    program = """
        from sklearn.utils.estimator_checks import check_estimator
        from melm import MELM
        reason = "Weighted and repeated rows take other last bits to other ends of the optimizer; the check wants 1e-7."
        unequal = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
        estimator = MELM(regularization=None, n_starts=3)
        results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=unequal)
        failed = [r["check_name"] for r in results if r["status"] != "passed" and not r["expected_to_fail"]]
        print(failed, len(results) > 50)
    """
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=environment, check=True
    )
    assert run.stdout.strip() == "[] True", run.stdout + run.stderr


@pytest.mark.parametrize("covariance", ["empirical", "ledoit_wolf"])
def test_finds_the_two_informative_directions(covariance: melm.Covariance) -> None:
    generator = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = generator.standard_normal((400, 8))
    X[:, 2] += 3 * y
    X[y == 1, 5] *= 4
    mixing = projection(8, 8)
    found = MELM(regularization=None, covariance=covariance, n_starts=6, random_state=0).fit(X @ mixing, y)
    truth: Array = np.array(np.linalg.inv(mixing)[:, [2, 5]], dtype=np.float64)
    assert principal_cosines(found.projection_, truth).min() > 0.9
    assert found.score(X @ mixing, y) > 0.93


def test_projection_is_orthonormal_and_transform_applies_it() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = MELM(regularization=None, n_starts=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.projection_.T @ found.projection_, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.transform(X), (X - X.mean(axis=0)) @ found.projection_, atol=1e-9)
    assert found.divergence_ == pytest.approx(melm.divergence(X, y, found.projection_), rel=1e-6)
    assert found.get_feature_names_out().tolist() == ["melm0", "melm1"]


@pytest.mark.parametrize("gamma", [1.0, [0.7, 1.0]])
def test_same_seed_same_bits_whatever_the_processes_and_threads(gamma: float | list[float]) -> None:
    X, y = mixture([150, 120], 8)
    alone = MELM(regularization=None, gamma=gamma, n_starts=6, random_state=3).fit(X, y)
    spread = MELM(regularization=None, gamma=gamma, n_starts=6, random_state=3, n_jobs=2).fit(X, y)
    with threadpool_limits(2):
        threaded = MELM(regularization=None, gamma=gamma, n_starts=6, random_state=3).fit(X, y)
    for other in (spread, threaded):
        np.testing.assert_array_equal(alone.projection_, other.projection_)
        np.testing.assert_array_equal(alone.predict_proba(X), other.predict_proba(X))
        assert alone.divergence_ == other.divergence_
    assert not np.array_equal(
        alone.starts_[4].projection,
        MELM(regularization=None, n_starts=6, random_state=4).fit(X, y).starts_[4].projection,
    )


def test_an_affine_map_of_the_features_changes_nothing_but_the_projection() -> None:
    X, y = mixture([120, 90], 5)
    A = projection(5, 5)
    plain = MELM(regularization=None, covariance="empirical", n_starts=6, random_state=0).fit(X, y)
    mapped = MELM(regularization=None, covariance="empirical", n_starts=6, random_state=0).fit(X @ A + 100, y)
    assert mapped.divergence_ == pytest.approx(plain.divergence_, abs=1e-8)
    fresh = mixture([50, 50], 5, seed=1)[0]
    np.testing.assert_array_equal(mapped.predict(fresh @ A + 100), plain.predict(fresh))


def test_scaling_features_changes_nothing_with_ledoit_wolf() -> None:
    X, y = mixture([120, 90], 5)
    scales = np.array([1e-3, 1.0, 1e3, 1e6, 10.0])
    plain = MELM(regularization=None, n_starts=6, random_state=0).fit(X, y)
    scaled = MELM(regularization=None, n_starts=6, random_state=0).fit(X * scales, y)
    assert scaled.divergence_ == pytest.approx(plain.divergence_, abs=1e-8)
    np.testing.assert_array_equal(scaled.predict(X * scales), plain.predict(X))


def test_more_starts_never_give_a_lower_divergence() -> None:
    X, y = mixture([80, 70], 12)
    best = [MELM(regularization=None, n_starts=n, random_state=2).fit(X, y).divergence_ for n in (1, 2, 4, 8, 12)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(best))


def test_the_race_drops_starts_and_comes_near_all_of_them() -> None:
    X, y = mixture([80, 70], 12)
    raced = MELM(regularization=None, n_starts=12, random_state=2).fit(X, y)
    full = MELM(regularization=None, n_starts=12, random_state=2, race=False).fit(X, y)
    reasons = {start.stopping_reason for start in raced.starts_}
    assert reasons == {StoppingReason.CONVERGED, StoppingReason.DROPPED}
    assert {start.stopping_reason for start in full.starts_} == {StoppingReason.CONVERGED}
    assert sum(s.n_evaluations for s in raced.starts_) < sum(s.n_evaluations for s in full.starts_)
    assert raced.divergence_ == pytest.approx(full.divergence_, rel=1e-3)


def test_starts_can_be_chosen_by_what_they_recognize() -> None:
    X, y = mixture([60, 60], 10, seed=4)
    chosen = MELM(regularization=None, n_starts=8, select_start_by="balanced_accuracy", random_state=0).fit(X, y)
    highest = MELM(regularization=None, n_starts=8, race=False, random_state=0).fit(X, y)
    score = "leave_one_out_balanced_accuracy"
    assert {start.stopping_reason for start in chosen.starts_} == {StoppingReason.CONVERGED}
    assert chosen.model_.card.model_dump()["in_sample"][score] >= highest.model_.card.model_dump()["in_sample"][score]
    assert chosen.divergence_ <= highest.divergence_


def test_a_ridge_leads_from_chance_directions_to_the_difference_of_means() -> None:
    """Sixty features for eighty rows, two of them telling: without a ridge the others are fitted by chance."""
    gains = []
    for seed in range(6):
        X, y = np.random.default_rng(seed).standard_normal((480, 60)), np.arange(480) % 2
        X[:, :2] += 1.5 * y[:, None]
        plain, ridged, strong = (
            MELM(regularization=None, n_starts=2, ridge=ridge, random_state=0).fit(X[:80], y[:80])
            for ridge in (0, 1, 1e4)
        )
        gains.append(ridged.score(X[80:], y[80:]) - plain.score(X[80:], y[80:]))
        assert ridged.divergence_ < plain.divergence_  # in the sample it looks worse
    assert np.mean(gains) > 0.005, gains
    standardized = X[:80] / X[:80].std(axis=0)
    difference = standardized[y[:80] == 1].mean(axis=0) - standardized[y[:80] == 0].mean(axis=0)
    Q = np.linalg.qr(strong.projection_ * X[:80].std(axis=0)[:, None])[0]
    assert np.linalg.norm(Q.T @ difference) / np.linalg.norm(difference) > 0.99


def test_gamma_is_chosen_by_cross_validation() -> None:
    X, y = mixture([60, 60], 4)
    found = MELM(regularization=None, gamma=[100.0, 0.8], n_starts=2, random_state=0).fit(X, y)
    assert found.gamma_ == 0.8  # at a hundred times Silverman's width the densities are all alike
    assert MELM(regularization=None, gamma="auto", n_starts=2, random_state=0).fit(X, y).gamma_ in (
        0.5,
        0.7,
        1.0,
        1.4,
        2.0,
    )


def test_one_component_is_the_papers_melc() -> None:
    X, y = mixture([100, 80], 4)
    found = MELM(1, regularization=None, n_starts=4, random_state=0).fit(X, y)
    assert found.transform(X).shape == (180, 1)
    grid = np.random.default_rng(0).standard_normal((4, 300))
    assert found.divergence_ >= max(melm.divergence(X, y, grid[:, [i]]) for i in range(300)) - 1e-9


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_any_number_of_components(k: int) -> None:
    X, y = load_iris(return_X_y=True)
    found = MELM(k, regularization=None, n_starts=3, random_state=0).fit(X, y)
    assert found.projection_.shape == (4, k)
    assert found.score(X, y) > 0.93


def test_priors_shift_the_decision() -> None:
    X, y = blobs(1.0, 400)
    rows = X[(X[:, 0] > -3) & (X[:, 0] < 4)]
    shares = [
        float(
            np.mean(MELM(regularization=None, n_starts=2, priors=priors, random_state=0).fit(X, y).predict(rows) == 1)
        )
        for priors in ([0.95, 0.05], "balanced", [0.05, 0.95])
    ]
    assert shares[0] < shares[1] - 0.2 < shares[2] - 0.4
    uneven = MELM(regularization=None, n_starts=2, priors="empirical", random_state=0).fit(
        X[:300], y[:300] * (np.arange(300) < 60)
    )
    np.testing.assert_allclose(uneven.model_.densities.priors, [0.9, 0.1])


@pytest.mark.parametrize("covariance", ["empirical", "ledoit_wolf"])
def test_awkward_data(covariance: melm.Covariance) -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((80, 4))
    y = np.arange(80) % 2
    X[:, 0] += 2 * y
    cases = {
        "a constant column": np.column_stack([X, np.full(80, 7.0)]),
        "a dependent column": np.column_stack([X, X @ [1.0, 2.0, 0.0, 1.0]]),
        "more features than rows": np.column_stack([X, generator.standard_normal((80, 120))]),
        "duplicate rows": np.repeat(X[:20], 4, axis=0),
        "ids in the millions": np.column_stack([X, 1e7 + np.arange(80) * 1e4]),
        "tiny and huge scales": X * [1e-12, 1.0, 1e12, 1.0],
        "a column equal to the label": np.column_stack([X, y]),
        "a column constant in one class": np.column_stack([X, np.where(y, generator.standard_normal(80), 0.5)]),
        "far rows": np.concatenate([X[:-1], 1e6 * X[-1:]]),
        "float32": X.astype(np.float32),
    }
    for name, rows in cases.items():
        labels = np.repeat(y[:20], 4) if name == "duplicate rows" else y
        found = MELM(regularization=None, covariance=covariance, n_starts=3, random_state=0).fit(rows, labels)
        assert np.isfinite(found.divergence_), name
        np.testing.assert_allclose(found.projection_.T @ found.projection_, np.eye(2), atol=1e-12, err_msg=name)
        assert np.isfinite(found.predict_proba(rows)).all(), name
        if name != "far rows":  # one of them widens the kernels of its whole class, by the method's own rule
            assert found.score(rows, labels) > 0.7, name


def test_a_perfect_feature_is_found_and_the_floor_is_told() -> None:
    X, y = mixture([60, 60], 4)
    found = MELM(regularization=None, covariance="empirical", n_starts=3, random_state=0).fit(
        np.column_stack([X, y]), y
    )
    assert found.score(np.column_stack([X, y]), y) == 1.0
    assert any("no spread" in warning for warning in found.model_.card.warnings)


def test_far_queries_get_probabilities() -> None:
    X, y = mixture([60, 60], 3)
    found = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
    far = np.array([[1e3, 0, 0], [-1e8, 1e8, 0], [1e200, 1e200, 1e200]])
    probabilities = found.predict_proba(far)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (found.log_density(far) < found.log_density(X).min()).all()


def test_works_in_pipelines_and_searches() -> None:
    X, y = mixture([60, 50], 5)
    pipeline = make_pipeline(StandardScaler(), MELM(regularization=None, n_starts=2, random_state=0), SVC())
    assert pipeline.fit(X, y).score(X, y) > 0.7
    search = GridSearchCV(
        MELM(regularization=None, n_starts=2, random_state=0), {"n_components": [1, 2], "gamma": [0.7, 1.0]}, cv=2
    )
    assert search.fit(X, y).best_params_.keys() == {"n_components", "gamma"}
    assert clone(MELM(3, regularization=None, gamma=[1.0, 2.0])).get_params()["gamma"] == [1.0, 2.0]


def test_a_callback_sees_progress_and_can_stop_the_run() -> None:
    X, y = mixture([60, 50], 6)
    seen: list[Progress] = []

    def stop_after_three(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    found = MELM(regularization=None, n_starts=10, random_state=0, callback=stop_after_three).fit(X, y)
    assert [progress.units_done for progress in seen] == [1, 2, 3]
    assert len(found.starts_) == 3
    assert found.divergence_ == pytest.approx(seen[-1].best_divergence, rel=1e-6)


def test_an_interrupt_keeps_all_starts_that_climb_together(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixture([60, 50], 6)
    evaluate = DivergenceStack.values_and_gradients
    calls: list[int] = []

    def interrupted(self: Any, V: Array, problems: Any) -> Any:
        calls.append(len(V))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return evaluate(self, V, problems)

    monkeypatch.setattr(DivergenceStack, "values_and_gradients", interrupted)
    found = MELM(regularization=None, n_starts=10, random_state=0).fit(X, y)
    assert calls == [10] * 5
    assert {start.stopping_reason for start in found.starts_} == {StoppingReason.CANCELED}
    assert {start.n_evaluations for start in found.starts_} == {4}
    assert np.isfinite(found.divergence_)


def test_an_interrupt_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "SMALL_ROWS", 0)
    X, y = mixture([60, 50], 6)
    evaluate = WhitenedDivergence.value_and_gradient
    count = 0

    def interrupted(self: Any, V: Array) -> Any:
        nonlocal count
        count += 1
        if count == 50:
            raise KeyboardInterrupt
        return evaluate(self, V)

    monkeypatch.setattr(WhitenedDivergence, "value_and_gradient", interrupted)
    found = MELM(regularization=None, n_starts=10, random_state=0).fit(X, y)
    assert 1 < len(found.starts_) < 10
    assert found.starts_[-1].stopping_reason is StoppingReason.CANCELED
    assert np.isfinite(found.divergence_)


def test_an_unconverged_best_start_is_told() -> None:
    X, y = mixture([60, 50], 6)
    with pytest.warns(ConvergenceWarning, match="max_iterations=1"):
        MELM(regularization=None, n_starts=1, max_iterations=1, random_state=0).fit(X, y)


def test_nothing_works_before_a_fit() -> None:
    for method in ("transform", "predict", "predict_proba", "log_density"):
        with pytest.raises(NotFittedError):
            getattr(MELM(), method)(np.zeros((2, 2)))


GOOD_X, GOOD_Y = mixture([20, 20], 4)
NAN, INFINITE = GOOD_X.copy(), GOOD_X.copy()
NAN[3, 1], INFINITE[3, 1] = np.nan, np.inf


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (GOOD_X, np.zeros(40), "1 class"),
        (NAN, GOOD_Y, "NaN"),
        (INFINITE, GOOD_Y, "infinity"),
        (np.empty((0, 4)), [], "0 sample"),
        ([[1.0, 2.0], [3.0]], [0, 1], "inhomogeneous"),
        ([["a", "b"], ["c", "d"]] * 4, [0, 1] * 4, "could not convert string"),
        (GOOD_X, [0] * 39 + [1], "at least 2 rows"),
        (np.ones((40, 4)), GOOD_Y, "constant"),
        (GOOD_X, GOOD_Y[:-1], "inconsistent"),
        (GOOD_X * [1, 1, 1, 1e200], GOOD_Y, "too large"),
        (np.column_stack([GOOD_X[:, 0]] * 3), GOOD_Y, "dimensions in which the rows vary"),
        (GOOD_X, np.linspace(0, 1, 40), "continuous"),
    ],
)
def test_bad_data_is_refused_in_words(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MELM(regularization=None, n_starts=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, "n_components=5 is larger than the number of features, 4"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 1.5}, "n_components=1.5"),
        ({"gamma": 0}, "gamma=0"),
        ({"gamma": -1.0}, "gamma=-1"),
        ({"gamma": np.inf}, "gamma=inf"),
        ({"gamma": []}, "nothing to choose"),
        ({"gamma": [1.0, 0.0]}, "gamma=0"),
        ({"gamma": "best"}, "gamma='best'"),
        ({"n_starts": 0}, "n_starts=0"),
        ({"covariance": "full"}, "covariance='full'"),
        ({"ridge": -0.1}, "ridge=-0.1 must be a finite number, 0 or more"),
        ({"ridge": np.inf}, "ridge=inf"),
        ({"select_start_by": "luck"}, "select_start_by='luck'"),
        ({"priors": "uniform"}, "priors='uniform'"),
        ({"priors": [0.5, 0.6]}, "add up to 1"),
        ({"priors": [1.0]}, "2 numbers"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"tolerance": 0.0}, "tolerance=0"),
        ({"form": "fast"}, "form='fast'"),
        ({"form": "spectral", "n_components": 4}, "3 components"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, Any], message: str) -> None:
    for regularization in ("path", None):
        with pytest.raises(ValueError, match=message):
            MELM(**{"regularization": regularization, **parameters}).fit(GOOD_X, GOOD_Y)


def test_too_many_rows_for_many_components_is_said_at_once() -> None:
    X = np.random.default_rng(0).standard_normal((20_001, 5))
    with pytest.raises(ValueError, match="at most 20000 rows"):
        MELM(4, regularization=None).fit(X, np.arange(20_001) % 2)


def test_exported_names() -> None:
    names = ["Covariance", "Divergence", "MELM", "Model", "ProjectionDisplay", "__version__", "divergence", "plot"]
    assert sorted(melm.__all__) == names
    assert all(getattr(melm, name) is not None for name in names)
