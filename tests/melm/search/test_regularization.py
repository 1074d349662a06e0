"""The regularized search: what it chooses from, how honestly, and what is left when it is cut short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from melm import MELM
from melm.comparison.separability import visual_separability
from melm.data.labeled import Labeled
from melm.evidence.evaluate import balanced_accuracy
from melm.evidence.validation import Validation
from melm.methods import METHODS, fit, plan_fit, run_unit
from melm.model import Model
from melm.model import file as model_file
from melm.model.card import Chosen
from melm.plan import Fold, NothingFitted, Result, Stage, run_plan, select
from melm.search.path import ITERATIONS, RIDGES
from melm.search.regularization import FOLDS
from melm.typing import Array
from tests.melm.samples import mixture

X, y = mixture([40, 30], 5)
QUICK: dict[str, Any] = {"regularization": "path", "ridge": 1.0}


def chosen(model: Model) -> Chosen:
    assert model.card.search is not None
    assert model.card.search.chosen is not None
    return model.card.search.chosen


def run(data: Labeled, keep: int | None = None, **parameters: Any) -> Model:
    """A fit whose first units only give a result: what keep_best leaves of a canceled one."""
    checked = METHODS["melm"].Parameters.model_validate(QUICK | parameters)
    done = 0

    def run_stage(stage: Stage) -> Sequence[Result | None]:
        nonlocal done
        results: list[Result | None] = []
        for unit in stage.units:
            results.append(run_unit("melm", data, checked, unit) if keep is None or done < keep else None)
            done += 1
        return results

    return run_plan(plan_fit("melm", data, checked), run_stage)


def test_says_what_was_chosen_from_what_and_by_how_much() -> None:
    found = chosen(fit("melm", X, y, regularization="path"))
    per_start = len(ITERATIONS) + len(ITERATIONS) - 1  # the divergence, then the posterior from where that ended
    assert found.n_candidates == len(RIDGES) * 2 * per_start
    assert found.folds == FOLDS
    assert sum(candidate.share for candidate in found.candidates) == pytest.approx(1)
    assert found.score is not None
    assert found.plain_score is not None
    assert found.score == max(candidate.score for candidate in found.candidates)
    assert found.score >= found.plain_score


def test_a_value_that_the_user_sets_is_kept() -> None:
    found = chosen(run(Labeled.check(X, y), ridge=2.5, gamma=0.8, objective="divergence", max_iterations=3))
    assert {(c.ridge, c.gamma, c.objective, c.iterations) for c in found.candidates} == {(2.5, 0.8, "divergence", 3)}
    assert found.n_candidates == 2


def test_kernel_widths_are_candidates_too() -> None:
    model = run(Labeled.check(X, y), gamma=[0.7, 1.4], max_iterations=2)
    assert chosen(model).n_candidates == 2 * 2 * 2
    assert model.card.gamma in (0.7, 1.4)


def test_more_than_two_classes_race_as_well() -> None:
    found = chosen(run(Labeled.check(*mixture([20, 20, 20], 4)), max_iterations=2, n_starts=4))
    assert found.n_candidates == 3 * 2


def test_equal_seeds_give_equal_bytes_in_any_number_of_processes() -> None:
    options: dict[str, Any] = {**QUICK, "random_state": 0, "max_iterations": 2}
    once, twice = MELM(**options).fit(X, y), MELM(**options, n_jobs=2).fit(X, y)
    assert model_file.dump(once.model_) == model_file.dump(twice.model_)


def test_pictures_of_permuted_labels_show_less_than_those_of_the_plain_search() -> None:
    rows = np.random.default_rng(0).standard_normal((120, 20))
    codes = np.arange(120) % 2
    scores = {
        regularization: visual_separability(
            fit("melm", rows, codes, regularization=regularization).transform(rows), codes
        )
        for regularization in ("path", None)
    }
    assert scores["path"].mean < scores[None].mean - 0.1


def test_inner_folds_never_see_rows_that_validation_holds_out() -> None:
    data = Labeled.check(X, y)
    checked = METHODS["melm"].Parameters.model_validate(QUICK | {"max_iterations": 1})
    seen: list[Any] = []

    def run_stage(stage: Stage) -> list[Result]:
        seen.extend(unit.resamples for unit in stage.units)
        return [run_unit("melm", data, checked, unit) for unit in stage.units]

    run_plan(plan_fit("melm", data, checked, Validation(2)), run_stage)
    outer = Fold(0, 2, 0)
    nested = [resamples for resamples in seen if len(resamples) == 2 and resamples[0] == outer]
    assert len(nested) == FOLDS
    held_out = set(outer.split(data.codes)[1].tolist())
    assert all(held_out.isdisjoint(select(resamples, data.codes).rows.tolist()) for resamples in nested)


def test_groups_are_not_divided_by_inner_folds() -> None:
    """Rows of one group are copies: were they on both sides of a fold, the highest divergence would seem to hold."""
    rows = np.repeat(np.random.default_rng(0).standard_normal((24, 12)), 6, axis=0)
    codes = np.repeat(np.arange(24) % 2, 6)
    data = Labeled.check(rows, codes)
    apart = chosen(run(data, ridge=0.0))
    data = Labeled.check(rows, codes)
    data.groups = np.repeat(np.arange(24), 6)
    together = chosen(run(data, ridge=0.0))
    assert apart.score is not None
    assert together.score is not None
    assert together.score < apart.score - 0.2


@pytest.mark.parametrize("size", [2, 3])
def test_a_class_of_fewer_rows_than_folds_is_fitted(size: int) -> None:
    rows, codes = mixture([30, size], 4)
    found = chosen(run(Labeled.check(rows, codes)))
    assert found.folds == size


def test_a_class_that_one_group_holds_is_fitted_without_a_choice() -> None:
    data = Labeled.check(X, y)
    data.groups = np.where(y == 1, 1, 2 + np.arange(len(y)) % 5)
    found = chosen(run(data))
    assert found.folds == 0
    assert found.score is None
    assert len(found.candidates) == 1


def test_what_is_kept_when_it_is_cut_short() -> None:
    data = Labeled.check(X, y)
    with pytest.raises(NothingFitted):
        run(data, keep=0, ridge="auto")
    n_paths = len(RIDGES)
    without_choice = run(data, keep=n_paths, ridge="auto")
    assert chosen(without_choice).folds == 0
    assert chosen(run(data, keep=n_paths + 2 * n_paths + 1, ridge="auto")).folds == 2
    assert np.isfinite(without_choice.predict_proba(X)).all()


def test_large_data_are_chosen_on_a_sample_and_climbed_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.search.path.SAMPLE_ROWS", 60)
    monkeypatch.setattr("melm.search.regularization.SAMPLE_ROWS", 60)
    rows, codes = mixture([150, 100], 5)
    search = run(Labeled.check(rows, codes), max_iterations=4).card.search
    assert search is not None
    assert [(stage.name, stage.n_rows) for stage in search.stages] == [("path", 60), ("polish", 250)]


@pytest.mark.parametrize(("sizes", "folds"), [([300, 260], 1), ([300, 40], 5)], ids=["enough", "a rare class"])
def test_of_very_many_rows_one_fold_judges_as_many_as_were_searched(
    sizes: list[int], folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("melm.search.path.SAMPLE_ROWS", 80)
    monkeypatch.setattr("melm.search.regularization.SAMPLE_ROWS", 80)
    monkeypatch.setattr("melm.search.regularization.ENOUGH", 10)
    data = Labeled.check(*mixture(sizes, 5))
    judged: list[int] = []

    def run_stage(stage: Stage) -> list[Result]:
        results = [run_unit("melm", data, checked, unit) for unit in stage.units]
        judged.extend(len(result["log_posteriors"]) for result in results if "log_posteriors" in result)
        return results

    checked = METHODS["melm"].Parameters.model_validate(QUICK | {"max_iterations": 4})
    assert chosen(run_plan(plan_fit("melm", data, checked), run_stage)).folds == folds
    assert len(judged) == folds
    assert max(judged) <= 80


def informative(n_rows: int, n_features: int, n_informative: int = 8) -> tuple[Array, npt.NDArray[np.intp]]:
    """Rows of which the first few features alone tell the classes apart."""
    codes = np.arange(n_rows) % 2
    rows = np.random.default_rng(0).standard_normal((n_rows, n_features))
    rows[:, :n_informative] += 1.2 * codes[:, None]
    return rows, codes


def test_of_more_features_than_rows_those_that_separate_are_kept() -> None:
    rows, codes = informative(260, 400)
    seen, new = slice(60), slice(60, None)
    model, plain = (
        fit("melm", rows[seen], codes[seen], regularization=which, max_iterations=4) for which in ("path", None)
    )
    kept = chosen(model).kept
    assert kept is not None
    names = [each.feature for each in kept]
    assert {f"x{j}" for j in range(8)} <= set(names)
    assert all(each.share_of_folds == 1 for each in kept[:4])
    assert min(each.share_of_folds or 0 for each in kept) < 0.8  # what chance has kept
    used = np.flatnonzero(np.abs(model.projection).max(axis=1)).tolist()
    assert used == sorted(int(name[1:]) for name in names)
    assert model.card.data.n_features == 400
    assert model.card.data.constant_features == []
    scores = [balanced_accuracy(codes[new], each.predict(rows[new])) for each in (model, plain)]
    assert scores[0] > scores[1] + 0.1


def test_features_are_screened_inside_each_inner_fold() -> None:
    data = Labeled.check(*informative(40, 100, 0))
    kept = [data.prepare("ledoit_wolf", (Fold(index, 5, 0),), 1.0, 10).rows.varying for index in range(2)]
    assert [int(each.sum()) for each in kept] == [10, 10]
    assert (kept[0] != kept[1]).any()
    score = chosen(run(data)).score
    assert score is not None
    assert score < -0.5  # were all rows seen by the screening, the rows held out would seem to be recognized


def test_sparse_and_weighted_rows_are_screened_alike() -> None:
    rows, codes = informative(30, 60)
    weights = np.where(np.arange(30) % 3, 1.0, 2.0)
    given = [Labeled.check(csr_array(rows), codes), Labeled.check(rows, codes), Labeled.check(rows, codes)]
    given[2].weights = weights
    problems = [data.prepare("ledoit_wolf", (), 1.0, 5) for data in given]
    assert (problems[0].rows.varying == problems[1].rows.varying).all()
    by_hand = np.corrcoef(rows.T, codes)[-1, :-1] ** 2
    np.testing.assert_allclose(given[1].prepare("ledoit_wolf").separations(), by_hand, atol=1e-12)
    repeated = Labeled.check(np.repeat(rows, weights.astype(int), axis=0), np.repeat(codes, weights.astype(int)))
    np.testing.assert_allclose(
        given[2].prepare("ledoit_wolf").separations(), repeated.prepare("ledoit_wolf").separations(), atol=1e-12
    )


def heavy_tailed(n_rows: int) -> tuple[Array, npt.NDArray[np.intp]]:
    """Rows with many zeros and heavy tails, whose classes differ in both."""
    generator = np.random.default_rng(0)
    codes = np.arange(n_rows) % 2
    sign = np.array([1, 1, 1, 1, -1, -1] + 6 * [0])
    X = np.exp(1.5 * generator.standard_normal((n_rows, 12)) + 0.8 * codes[:, None] * sign)
    X[generator.random(X.shape) < 0.7 - 0.25 * codes[:, None] * sign] = 0
    return X, codes


def test_three_components_of_heavy_tails_are_classified_as_neighbors_would() -> None:
    """Heavy tails widen Silverman's kernel, and a projection for the divergence alone is smeared by it."""
    X, codes = heavy_tailed(1000)
    seen, new = slice(400), slice(400, None)
    model = fit("melm", X[seen], codes[seen], n_components=3, regularization="path", ridge=1.0, max_iterations=4)
    Z = model.transform(X) / model.transform(X[seen]).std(axis=0)
    by_neighbors = balanced_accuracy(codes[new], KNeighborsClassifier().fit(Z[seen], codes[seen]).predict(Z[new]))
    assert balanced_accuracy(codes[new], model.predict(X[new])) > by_neighbors - 0.05


def test_every_start_has_its_path_in_the_estimator() -> None:
    estimator = MELM(regularization="path", random_state=0, max_iterations=2).fit(*load_wine(return_X_y=True))
    assert len(estimator.starts_) == len(RIDGES)
    assert estimator.score(*load_wine(return_X_y=True)) > 0.95


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"regularization": "lasso"}, "regularization='lasso' is not one of 'path'"),
        ({"regularization": None, "objective": "posterior"}, "objective='posterior' needs regularization='path'"),
        ({"regularization": "path", "race": False}, "need regularization=None"),
        ({"regularization": "path", "select_start_by": "balanced_accuracy"}, "need regularization=None"),
        ({"ridge": "much"}, "ridge='much' must be a finite number"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MELM(**options).fit(X, y)
