"""Is the separation real? What the card says of noise, of signal, of leaks and of unstable directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from melm.data.labeled import Labeled
from melm.evidence.validation import Validation, interval
from melm.methods import METHODS, fit, plan_fit, run_unit
from melm.model import Model
from melm.model import file as model_file
from melm.plan import Result, Stage, run_plan
from tests.melm.samples import Array, mixture


@pytest.fixture(scope="module")
def noise() -> Model:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((120, 60)), np.arange(120) % 2
    return fit("melm", X, y, regularization=None, n_starts=3, validation=Validation(permutations=19, folds=2))


@pytest.fixture(scope="module")
def signal() -> Model:
    X, y = mixture([70, 60], 4)
    return fit(
        "melm", X, y, regularization=None, n_starts=3, validation=Validation(permutations=5, bootstraps=12, repeats=2)
    )


def test_noise_separates_in_sample_and_the_card_says_that_it_is_not_real(noise: Model) -> None:
    card = noise.card.model_dump()
    low, high = card["validation"]["interval"]
    assert card["in_sample"]["leave_one_out_balanced_accuracy"] > 0.9
    assert low < 0.5 < high
    assert card["permutation_test"]["p_value_of_balanced_accuracy"] > 0.05
    assert card["verdict"]["level"] == "noise"


def test_wide_noise_is_said_to_be_noise() -> None:
    X, y = np.random.default_rng(0).standard_normal((100, 20_000)), np.arange(100) % 2
    card = fit("melm", X, y, n_starts=1, max_iterations=15, validation=Validation(permutations=3)).card.model_dump()
    low, high = card["validation"]["interval"]
    assert card["in_sample"]["leave_one_out_balanced_accuracy"] > 0.95
    assert low < 0.5 < high
    assert card["verdict"]["level"] == "noise"


def test_signal_is_real(signal: Model) -> None:
    card = signal.card.model_dump()
    assert card["verdict"]["level"] in ("partial", "clear")
    assert card["validation"]["repeats"] == 2
    assert len(card["validation"]["scores"]) == 10
    assert card["permutation_test"]["p_value_of_divergence"] == pytest.approx(1 / 6)
    assert max(card["permutation_test"]["divergences"]) < card["in_sample"]["divergence"]


def test_confusion_counts_every_row_once_in_each_repeat(signal: Model) -> None:
    assert np.sum(signal.card.model_dump()["validation"]["confusion"], axis=1).tolist() == [140, 120]
    recalls = signal.card.model_dump()["validation"]["recall_by_class"]
    assert np.mean(recalls) == pytest.approx(signal.card.model_dump()["validation"]["balanced_accuracy"], abs=0.02)


def test_held_out_rows_are_kept_for_the_picture(signal: Model) -> None:
    held_out = signal.held_out
    assert held_out is not None
    assert held_out.positions.shape == (130, 2)
    assert np.bincount(held_out.codes).tolist() == [70, 60]
    loaded = model_file.load(model_file.dump(signal)).held_out
    assert loaded is not None
    np.testing.assert_array_equal(loaded.positions, held_out.positions)
    np.testing.assert_array_equal(loaded.predicted, held_out.predicted)
    assert loaded.rows is not None
    assert sorted(loaded.rows.tolist()) == list(range(130))


def test_held_out_rows_lie_where_the_model_would_put_them() -> None:
    """On data with two clear directions all folds find the same subspace, and alignment undoes its free coordinates."""
    generator = np.random.default_rng(1)
    y = np.arange(200) % 2
    X = generator.standard_normal((200, 3))
    X[:, 0] += 6 * y
    X[y == 1, 1] *= 5
    model = fit("melm", X, y, regularization=None, n_starts=3, validation=Validation())
    assert model.held_out is not None
    data = Labeled.check(X, y)
    order = np.concatenate([data.held_out((fold,))[0] for fold in Validation().splits(data, 0)])
    gap = np.abs(model.held_out.positions - model.transform(order)).mean(axis=0)
    assert (gap < 0.1 * model.transform(X).std(axis=0)).all()


def test_a_stable_direction_and_an_unstable_one_are_told_apart() -> None:
    generator = np.random.default_rng(3)
    y = np.arange(80) % 2
    X = generator.standard_normal((80, 8))
    X[:, 0] += 4 * y
    model = fit("melm", X, y, regularization=None, n_starts=3, validation=Validation(bootstraps=10))
    first, second = model.card.model_dump()["stability"]["cosines"]
    assert first["median"] > 0.9 > second["median"]
    assert any("Direction 2" in warning for warning in model.card.warnings)


def test_intervals_of_loadings_hold_the_loadings(signal: Model) -> None:
    stability, loadings = signal.card.model_dump()["stability"], np.array(signal.card.model_dump()["loadings"])
    low, high = np.array(stability["loadings"]["low"]), np.array(stability["loadings"]["high"])
    assert ((low - 0.05 <= loadings) & (loadings <= high + 0.05)).mean() > 0.8
    assert np.abs(np.array(signal.card.model_dump()["axis_correlations"])).max() <= 1 + 1e-12


def test_the_feature_that_separates_is_the_important_one() -> None:
    generator = np.random.default_rng(4)
    y = np.arange(200) % 2
    X = generator.standard_normal((200, 5)) * [1, 1, 1000, 1, 1]
    X[:, 3] += 4 * y
    importance = fit("melm", X, y, regularization=None, n_starts=3, validation=Validation()).card.model_dump()[
        "importance"
    ]
    assert np.argmax(importance["divergence_drop"]) == 3
    assert np.argmax(importance["balanced_accuracy_drop"]) == 3
    assert importance["balanced_accuracy_drop"][3] > 0.3
    assert abs(importance["balanced_accuracy_drop"][2]) < 0.05


def test_groups_keep_copies_of_a_row_together() -> None:
    """Copies of rows leak through folds that divide them, and do not through folds by group."""
    generator = np.random.default_rng(5)
    rows, labels = generator.standard_normal((40, 20)), np.arange(40) % 2
    X, y, groups = np.repeat(rows, 4, axis=0), np.repeat(labels, 4), np.repeat(np.arange(40), 4)
    X = X + 1e-3 * generator.standard_normal(X.shape)

    def held_out(groups: Any) -> float:
        data = Labeled.check(X, y)
        data.groups = groups
        parameters = METHODS["melm"].Parameters(regularization=None, n_starts=2, gamma=0.3)

        def run(stage: Stage) -> list[Result]:
            return [run_unit("melm", data, parameters, unit) for unit in stage.units]

        card = run_plan(plan_fit("melm", data, parameters, Validation()), run).card.model_dump()
        return float(card["validation"]["balanced_accuracy"])

    assert held_out(None) > 0.85
    assert held_out(groups) < 0.7


def test_a_class_smaller_than_the_folds_gets_fewer_of_them() -> None:
    X, y = mixture([40, 3], 3)
    assert fit("pca", X, y, validation=Validation(folds=5)).card.model_dump()["validation"]["folds"] == 3


def test_validation_changes_nothing_in_the_model() -> None:
    X, y = mixture([50, 40], 4)
    plain, validated = (
        fit("melm", X, y, regularization=None, n_starts=3),
        fit("melm", X, y, regularization=None, n_starts=3, validation=Validation()),
    )
    np.testing.assert_array_equal(plain.projection, validated.projection)
    assert plain.card.validation is None


def test_what_a_validation_costs_is_known_beforehand() -> None:
    X, y = mixture([50, 40], 4)
    data = Labeled.check(X, y)
    validation = Validation(folds=3, repeats=2, permutations=4, bootstraps=5)
    names: set[str] = set()

    def run(stage: Stage) -> list[Result]:
        names.update(unit.name for unit in stage.units)
        return [run_unit("pca", data, parameters, unit) for unit in stage.units]

    parameters = METHODS["pca"].Parameters()
    run_plan(plan_fit("pca", data, parameters, validation), run)
    assert len(names) == validation.n_fits(len(validation.splits(data, 0))) == 7 * 5 + 5


def test_interval_of_a_cross_validated_mean() -> None:
    """Nadeau and Bengio: the variance of the mean of J scores is (1/J + n_test/n_train) times theirs."""
    scores: Array = np.array([0.7, 0.8, 0.75, 0.85, 0.9])
    low, high = interval(scores, 5)
    reach = 2.776445 * scores.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert (low, high) == pytest.approx((0.8 - reach, 0.8 + reach), abs=1e-5)


def test_an_id_in_rows_sorted_by_class_is_suspected() -> None:
    X, y = mixture([30, 30], 3)
    order = np.argsort(y, kind="stable")
    with_id = np.column_stack([X[order], np.arange(60)])
    told = fit("pca", with_id, y[order]).card.warnings
    assert any("'x3'" in warning and "sorted by class" in warning for warning in told)
    shuffled = fit("pca", np.column_stack([X, np.arange(60)]), y).card.warnings
    assert not any("sorted by class" in warning for warning in shuffled)
    assert not any("sorted by class" in warning for warning in fit("pca", X[order], y[order]).card.warnings)
