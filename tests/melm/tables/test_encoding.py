"""Gaps and categories as numbers, by what the training rows tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from melm.data.labeled import Labeled
from melm.evidence.evaluate import balanced_accuracy
from melm.evidence.validation import Validation
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import Model
from melm.model import file as model_file
from melm.plan import Fold, run_plan
from melm.tables.encoding import MAX_CATEGORIES, MIN_ROWS, CategoryColumn, Encoder, enough_rows, needs_encoder
from melm.tables.table import Cell, Table
from tests.melm.tables.real_tables import penguins, titanic


def messy(n_rows: int = 120) -> tuple[Table, list[str]]:
    """Numbers with gaps, categories with gaps and rare ones, and labels that depend on all of them."""
    generator = np.random.default_rng(0)
    label = generator.integers(0, 2, n_rows)
    age: list[Cell] = [None if i % 10 == 0 else float(v) for i, v in enumerate(generator.normal(40 + 6 * label, 8))]
    color: list[Cell] = [[None, "red", "blue", "green"][int(v)] for v in np.clip(generator.normal(1.5 + label), 0, 3)]
    for index in range(7, n_rows, 20):  # each too rare for a feature, both together not
        color[index] = "teal" if index < n_rows // 2 else "cyan"
    weight: list[Cell] = generator.normal(size=n_rows).tolist()
    return Table.of_cells({"age": age, "color": color, "weight": weight}), ["sick" if v else "well" for v in label]


def fit(data: Labeled, method: str = "lda", validation: Validation | None = None, **parameters: object) -> Model:
    checked = METHODS[method].Parameters.model_validate(parameters)
    return run_plan(
        plan_fit(method, data, checked, validation),
        lambda stage: [run_unit(method, data, checked, unit) for unit in stage.units],
    )


def test_encoded_columns() -> None:
    table, _ = messy()
    encoder = Encoder.fit(table)
    assert encoder.features == [
        "age",
        "age (missing)",
        "color=blue",
        "color=green",
        "color=red",
        "color (other)",
        "color (missing)",
        "weight",
    ]
    assert encoder.sources == [[0, 1], [2, 3, 4, 5, 6], [7]]
    X = encoder.encode(table)
    ages = table.number("age")
    assert np.array_equal(X[:, 1], np.isnan(ages))
    assert set(X[np.isnan(ages), 0]) == {np.nanmedian(ages)}
    assert (X[:, 2:7].sum(axis=1) == 1).all()
    assert X[7, 5] == 1
    assert np.array_equal(X[:, 7], table.number("weight"))


def test_rows_by_name_in_any_order_with_unseen_values() -> None:
    table, _ = messy()
    encoder = Encoder.fit(table)
    rows = Table.of_cells({"extra": [1.0], "weight": [0.5], "color": ["mauve"], "age": [None]})
    median = float(np.nanmedian(table.number("age")))
    assert encoder.encode(rows).tolist() == [[median, 1, 0, 0, 0, 1, 0, 0.5]]


def test_categories_are_bounded_in_number() -> None:
    cells: list[Cell] = [f"v{i}" for i in range(30) for _ in range(10)]
    (column,) = Encoder.fit(Table.of_cells({"c": cells})).columns
    assert len(column.features) == MAX_CATEGORIES + 1


def test_a_category_that_is_new_where_nothing_was_rare_is_all_zeros() -> None:
    encoder = Encoder.fit(Table.of_cells({"c": ["a", "b"] * 10}))
    assert encoder.encode(Table.of_cells({"c": ["new", "b"]})).tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("method", ["melm", "lda"])
@pytest.mark.parametrize("load", [penguins, titanic])
def test_rare_things_make_no_axis(load: Callable[[], tuple[Table, list[str]]], method: str) -> None:
    """The central 95 % of the rows fill at least .4 of the range of each axis."""
    data = Labeled.of_table(*load())
    n_components = 1 if method == "lda" else 2
    parameters: dict[str, Any] = {"regularization": None, "n_starts": 2} if method == "melm" else {}
    model = fit(data, method, n_components=n_components, **parameters)
    Z = (data.X - model.offset) @ model.projection
    low, high = np.quantile(Z, [0.025, 0.975], axis=0)
    assert ((high - low) / np.ptp(Z, axis=0) >= 0.4).all()


def test_indicators_need_rows_and_equal_ones_are_one() -> None:
    n_rows = 400
    few: list[Cell] = [None if i < enough_rows(n_rows) - 1 else float(i % 7) for i in range(n_rows)]
    many: list[Cell] = [None if i < enough_rows(n_rows) else float(i % 5) for i in range(n_rows)]
    again: list[Cell] = [None if i < enough_rows(n_rows) else "ab"[i % 2] for i in range(n_rows)]
    encoder = Encoder.fit(Table.of_cells({"few": few, "many": many, "again": again}))
    assert encoder.features == ["few", "many", "many (missing)", "again=a", "again=b", "again (other)"]
    rows = Table.of_cells({"few": [None], "many": [1.0], "again": ["b"]}, text=["again"])
    assert encoder.encode(rows).tolist() == [[3.0, 1.0, 0.0, 0.0, 1.0, 0.0]]


def test_what_is_too_rare_is_taken_as_the_most_frequent_category() -> None:
    cells: list[Cell] = [None, None, "rare", *["a"] * 60, *["b"] * 37]
    encoder = Encoder.fit(Table.of_cells({"c": cells}))
    assert encoder.columns == (CategoryColumn("c", ("a", "b"), False, 2, False, "a"),)
    rows = Table.of_cells({"c": [None, "rare", "new", "b"]})
    assert encoder.encode(rows).tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


def test_the_encoder_is_json() -> None:
    encoder = Encoder.fit(messy()[0])
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


def test_a_table_of_numbers_without_gaps_is_taken_as_it_is() -> None:
    numbers = np.random.default_rng(0).standard_normal((30, 3))
    table = Table.of_numbers(numbers)
    assert not needs_encoder(table)
    data = Labeled.of_table(table, [0, 1] * 15)
    assert data.X is numbers
    assert data.encoder() is None
    plain = fit(Labeled.check(numbers, [0, 1] * 15, list(table.names)), n_components=1)
    assert model_file.dump(fit(data, n_components=1)) == model_file.dump(plain)


@pytest.mark.parametrize("method", ["lda", "melm"])
def test_the_same_table_cleaned_by_hand_gives_the_same_model(method: str) -> None:
    table, labels = messy()
    parameters: dict[str, Any] = {
        "n_components": 1,
        **({"regularization": None, "n_starts": 2} if method == "melm" else {}),
    }
    model = fit(Labeled.of_table(table, labels), method, **parameters)

    frame = pd.DataFrame({name: table.cells(name) for name in table.names})
    frame["color"] = frame["color"].replace(["teal", "cyan"], "(other)").fillna("(missing)")
    cleaned = pd.DataFrame(
        {
            "age": frame["age"].astype(float).fillna(frame["age"].astype(float).median()),
            "age (missing)": frame["age"].isna().astype(float),
            **{
                value: (frame["color"] == value).astype(float)
                for value in ["blue", "green", "red", "(other)", "(missing)"]
            },
            "weight": frame["weight"].astype(float),
        }
    )
    X = np.ascontiguousarray(cleaned)
    by_hand = fit(Labeled.check(X, labels), method, **parameters)
    assert np.array_equal(model.projection, by_hand.projection)
    assert model.encoder is not None
    assert np.array_equal(model.predict(model.encoder.encode(table)), by_hand.predict(X))


def test_the_model_file_keeps_the_encoder() -> None:
    table, labels = messy()
    model = fit(Labeled.of_table(table, labels, id_name="row"), n_components=1)
    loaded = model_file.load(model_file.dump(model))
    assert loaded.encoder == model.encoder
    assert loaded.id_name == "row"
    assert loaded.card == model.card
    assert model_file.dump(loaded) == model_file.dump(model)


def test_the_card_sums_features_back_to_their_columns() -> None:
    table, labels = messy()
    card = fit(
        Labeled.of_table(table, labels), validation=Validation(folds=3, bootstraps=2), n_components=1
    ).card.model_dump()
    assert [column["name"] for column in card["columns"]] == list(table.names)
    weight = card["columns"][2]
    assert weight["loadings"] == pytest.approx(np.abs(card["loadings"][7]))
    assert weight["axis_correlations"] == pytest.approx(np.abs(card["axis_correlations"][7]))
    assert card["importance"]["columns"] == list(table.names)
    assert len(card["importance"]["balanced_accuracy_drop"]) == 3


def test_every_fold_learns_from_its_own_rows() -> None:
    table, labels = messy()
    data = Labeled.of_table(table, labels)
    fold = Fold(0, 4, 0)
    X, codes = data.training((fold,))
    train = fold.split(data.codes)[0]
    assert data.encoder((fold,)) == Encoder.fit(table.take(train))
    assert data.encoder((fold,)) != data.encoder()
    assert X.shape == (len(codes), len(data.names((fold,)) or ()))
    assert data.held_out((fold,))[0].shape[1] == X.shape[1]


def test_validation_leaks_nothing() -> None:
    """A column that says something only to those who have counted all rows, the held-out ones included.

    Rows of the first class share a category with four others, those of the second with three: among all rows the ones
    are frequent and the others rare. Without the held-out rows neither is, and nothing is left to learn.
    """
    frequent = [f"a{i}" for i in range(16) for _ in range(MIN_ROWS)]
    rare = [f"b{i}" for i in range(20) for _ in range(MIN_ROWS - 1)]
    noise: list[Cell] = np.random.default_rng(0).standard_normal(160).tolist()
    labels = ["a"] * len(frequent) + ["b"] * len(rare)
    data = Labeled.of_table(Table.of_cells({"visits": [*frequent, *rare], "noise": noise}), labels)

    names = data.names()
    assert names is not None
    leaky = data.X[:, names.index("visits (other)")].astype(np.intp)
    assert balanced_accuracy(data.codes, leaky) == 1.0
    validation = fit(data, validation=Validation(folds=5, repeats=2), n_components=1).card.model_dump()["validation"]
    assert validation["interval"][0] < 0.5
    assert validation["balanced_accuracy"] < 0.6
    assert validation["interval"][0] <= validation["chance"]
