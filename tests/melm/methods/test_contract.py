"""What holds for every method of the registry, MELM included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from melm.data.labeled import Labeled
from melm.evidence.citation import PAPER, SOFTWARE
from melm.evidence.validation import Validation
from melm.methods import METHODS, fit, plan_fit, run_unit
from melm.methods.base import DirectMethod
from melm.model import Model
from melm.model import file as model_file
from melm.model.card import Card, Citation
from melm.plan import NothingFitted, Stage, run_plan
from tests.melm.samples import Array, mixture

QUICK: dict[str, dict[str, Any]] = {"melm": {"regularization": None, "n_starts": 2}}
X, y = mixture([30, 25, 20], 5)

AS_THEY_COME = {"standardize": False}
STANDARDIZING = [name for name, method in METHODS.items() if "standardize" in method.Parameters.model_fields]

every_method = pytest.mark.parametrize("name", METHODS)


def fit_quickly(name: str, X: Any = X, y: Any = y, **parameters: Any) -> Model:
    return fit(name, X, y, **QUICK.get(name, {}), **parameters)


@every_method
def test_gives_finite_arrays_of_the_right_shapes(name: str) -> None:
    model = fit_quickly(name)
    k = 5 if name == "identity" else 2
    assert model.method == name
    assert model.projection.shape == (5, k)
    assert model.offset.shape == (5,)
    assert model.transform(X).shape == (len(X), k)
    assert model.predict_proba(X).shape == (len(X), 3)
    for array in (model.projection, model.offset, model.transform(X), model.predict_proba(X), model.log_density(X)):
        assert array.dtype == np.float64
        assert np.isfinite(array).all()
    assert Card.model_validate_json(model.card.model_dump_json()) == model.card
    assert model.card.method == name
    assert model.card.citation == Citation(paper=PAPER, software=SOFTWARE)
    assert model.card.model_dump()["in_sample"]["divergence"] >= 0


@every_method
def test_tells_classes_apart_better_than_chance(name: str) -> None:
    assert (fit_quickly(name).predict(X) == y).mean() > 0.5


@every_method
def test_transform_is_the_linear_map_that_it_says(name: str) -> None:
    model = fit_quickly(name)
    np.testing.assert_allclose(model.transform(X), (X - model.offset) @ model.projection, rtol=0, atol=1e-12)


@every_method
def test_equal_seeds_give_equal_bytes_and_leave_the_input_alone(name: str) -> None:
    given = X.copy()
    given.flags.writeable = False
    assert model_file.dump(fit_quickly(name, given, seed=2**63 - 1)) == model_file.dump(
        fit_quickly(name, X, seed=2**63 - 1)
    )


@every_method
def test_columns_are_orthonormal_where_the_method_says_so(name: str) -> None:
    V = fit_quickly(name, **(AS_THEY_COME if name in STANDARDIZING else {})).projection
    if METHODS[name].orthonormal:
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-12)
    else:
        assert np.abs(V.T @ V - np.eye(V.shape[1])).max() > 1e-6


@every_method
def test_a_saved_model_predicts_the_same_bits(name: str) -> None:
    model = fit_quickly(name, y=np.array(["red", "green", "blue"])[y])
    loaded = model_file.load(model_file.dump(model))
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.card == model.card


@every_method
def test_float32_gives_what_float64_gives(name: str) -> None:
    rounded = X.astype(np.float32)
    model, wide = fit_quickly(name, rounded), fit_quickly(name, rounded.astype(np.float64))
    agreement = np.corrcoef(model.transform(rounded)[:, 0], wide.transform(rounded)[:, 0])[0, 1]
    assert agreement > 0.999


@every_method
def test_validation_judges_rows_that_the_fit_has_not_seen(name: str) -> None:
    held_out = fit_quickly(name, validation=Validation(folds=3, repeats=2)).card.model_dump()["validation"]
    assert len(held_out["scores"]) == 6
    low, high = held_out["interval"]
    assert 0 <= low <= held_out["balanced_accuracy"] <= high <= 1


@pytest.mark.parametrize("name", [name for name in METHODS if name != "identity"])
def test_the_unit_of_a_feature_does_not_matter(name: str) -> None:
    units = np.array([1e3, 1, 1e-2, 30, 1])
    labels = [fit_quickly(name, rows).predict(rows) for rows in (X, X * units)]
    assert (labels[0] == labels[1]).mean() > 0.95


@pytest.mark.parametrize("name", STANDARDIZING)
def test_features_are_taken_as_they_come_where_that_is_asked_for(name: str) -> None:
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    by_itself, before = fit_quickly(name), fit_quickly(name, standardized, **AS_THEY_COME)
    np.testing.assert_allclose(by_itself.transform(X), before.transform(standardized), atol=1e-6)


def with_constant_columns(X: Array) -> Array:
    X = X.copy()
    X[:, 1], X[:, 3] = 7.0, 0.0
    return X


AWKWARD: dict[str, Callable[[Array], Array]] = {
    "constant columns": with_constant_columns,
    "columns twice": lambda X: np.hstack([X, X]),
    "rows twice": lambda X: X[np.arange(len(X)) // 2 * 2],
    "wild scales": lambda X: X * [1e7, 1, 1e-7, 1e3, 1] + [1e8, 0, 0, 0, 0],
    "huge": lambda X: X * 1e140,
    "tiny": lambda X: X * 1e-140,
    "more features than rows": lambda X: np.random.default_rng(0).standard_normal((len(X), 90)),
    "whole numbers": np.round,
    "a column equal to the label": lambda X: np.column_stack([X, y.astype(float)]),
    "a column without spread in one class": lambda X: np.column_stack([X, np.where(y == 0, 0.0, X[:, 0])]),
}


@pytest.mark.parametrize("kind", AWKWARD)
@every_method
def test_awkward_data_is_fitted_without_a_warning(name: str, kind: str) -> None:
    awkward = AWKWARD[kind](X)
    model = fit_quickly(name, awkward)
    for array in (model.projection, model.offset, model.predict_proba(awkward)):
        assert np.isfinite(array).all()
    model_file.load(model_file.dump(model))


@every_method
def test_one_class_is_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="At least two classes"):
        fit_quickly(name, y=np.zeros(len(X)))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "identity"])
def test_more_components_than_dimensions_are_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="n_components=4"):
        fit_quickly(name, with_constant_columns(X), n_components=4)


@every_method
@pytest.mark.parametrize(
    "parameters",
    [{"n_components": 0}, {"gamma": 0}, {"gamma": np.inf}, {"covariance": "none"}, {"seed": -1}, {"no": 1}],
)
def test_bad_parameters_are_refused_by_name(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(parameters))):
        fit(name, X, y, **parameters)


@every_method
def test_priors_that_do_not_fit_the_classes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="priors"):
        fit_quickly(name, priors=[0.5, 0.5])


@pytest.mark.parametrize("name", [name for name in METHODS if isinstance(METHODS[name], DirectMethod)])
def test_what_cannot_be_fitted_is_refused_before_any_work(name: str) -> None:
    parameters = METHODS[name].Parameters.model_validate({"priors": [0.5, 0.5]})
    with pytest.raises(ValueError, match="priors"):
        next(plan_fit(name, Labeled.check(X, y), parameters))


@every_method
def test_a_fit_whose_units_give_nothing_has_no_model(name: str) -> None:
    data, parameters = Labeled.check(X, y), METHODS[name].Parameters()
    with pytest.raises(NothingFitted):
        run_plan(plan_fit(name, data, parameters), lambda stage: [None] * len(stage.units))


@every_method
def test_a_plan_can_be_replayed_from_stored_results(name: str) -> None:
    data, parameters = Labeled.check(X, y), METHODS[name].Parameters.model_validate(QUICK.get(name, {}))
    stored: dict[str, Any] = {}

    def run_stage(stage: Stage) -> list[Any]:
        for unit in stage.units:
            if unit.name not in stored:
                stored[unit.name] = run_unit(name, data, parameters, unit)
        return [stored[unit.name] for unit in stage.units]

    first = run_plan(plan_fit(name, data, parameters, Validation(3)), run_stage)
    n_units = len(stored)
    again = run_plan(plan_fit(name, Labeled.check(X, y), parameters, Validation(3)), run_stage)
    assert len(stored) == n_units
    assert model_file.dump(first) == model_file.dump(again)


@every_method
def test_the_schema_explains_itself(name: str) -> None:
    method = METHODS[name]
    schema = method.Parameters.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all("description" in field and "default" in field for field in schema["properties"].values())
    assert len(method.description) > len(method.title)
