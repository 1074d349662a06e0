"""DataFrames as people have them: read as the service reads a table, and asked by the names of their columns."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from melm import MELM
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import Model
from melm.plan import Fold, Stage, run_plan
from melm.tables.options import ReadOptions
from service.intake.formats import CODECS, Limits
from service.intake.upload import labeled_rows, read_upload

N_ROWS = 240
LIMITS = Limits(sys.maxsize, sys.maxsize, sys.maxsize, are_for_own_files=True, sparse_columns=sys.maxsize)


def passengers() -> tuple[pd.DataFrame, pd.Series[Any]]:
    """A ship's list: a number, names, two kinds of categories, ages with missing values, dates, a constant column."""
    generator = np.random.default_rng(0)
    survived = np.arange(N_ROWS) % 2
    is_woman = generator.random(N_ROWS) < 0.3 + 0.4 * survived
    age = np.where(generator.random(N_ROWS) < 0.2, np.nan, generator.normal(32, 12, N_ROWS).round())
    booked = np.datetime64("1912-01-01") + generator.integers(0, 100, N_ROWS).astype("timedelta64[D]")
    frame = pd.DataFrame(
        {
            "PassengerId": np.arange(1, N_ROWS + 1),
            "Name": [f"Passenger {index:04d}" for index in range(N_ROWS)],
            "Pclass": pd.Categorical((3 - survived + generator.integers(-1, 1, N_ROWS)).astype(str)),
            "Sex": np.where(is_woman, "female", "male"),
            "Age": age,
            "Fare": generator.gamma(2, 10 + 15 * survived),
            "Cabin": [None if lacking else "C85" for lacking in generator.random(N_ROWS) < 0.7],
            "Booked": booked,
            "IsAlone": generator.random(N_ROWS) < 0.5,
            "Ship": "Titanic",
        }
    )
    return frame, pd.Series(np.where(survived, "yes", "no"), name="Survived")


def penguins() -> tuple[pd.DataFrame, pd.Series[Any]]:
    table = load_penguins()
    return table.drop(columns="species"), table["species"]


def quick(**parameters: Any) -> MELM:
    return MELM(regularization=None, n_starts=1, random_state=0, **parameters)


@cache
def of_passengers() -> MELM:
    """For tests that only ask it."""
    return quick().fit(*passengers())


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_every_library_gives_the_same(kind: str) -> None:
    frame, survived = passengers()
    given = KINDS[kind](frame)
    found = quick().fit(given, survived)
    assert found.n_features_in_ == frame.shape[1]
    assert found.feature_names_in_.tolist() == list(frame.columns)
    assert found.columns_ is not None
    assert {name: str(each.role) for name, each in found.columns_.items()} == {
        "PassengerId": "id",
        "Name": "ignore",
        "Pclass": "categorical",
        "Sex": "categorical",
        "Age": "numeric",
        "Fare": "numeric",
        "Cabin": "ignore",
        "Booked": "time",
        "IsAlone": "numeric",
        "Ship": "ignore",
    }
    assert {"Pclass=1", "Sex=female", "Age", "Age (missing)", "Booked (weekday, sine)"} < set(found.features_)
    assert found.projection_.shape == (len(found.features_), 2)
    expected = of_passengers()
    np.testing.assert_array_equal(found.projection_, expected.projection_)
    np.testing.assert_array_equal(found.predict_proba(given), expected.predict_proba(frame))
    assert found.score(given, survived) > 0.7


def test_the_same_numbers_as_by_the_service() -> None:
    """Its reader, its encoder, its plan, from the same table as a file."""
    frame, species = penguins()
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame.assign(species=species)), file)
    codec = CODECS["application/vnd.apache.parquet"]
    rows = labeled_rows(read_upload(codec, file.getvalue(), LIMITS, ReadOptions(target="species")))
    parameters = METHODS["melm"].Parameters(regularization=None, n_starts=1, seed=0)

    def run_stage(stage: Stage) -> list[Any]:
        return [run_unit("melm", rows, parameters, unit) for unit in stage.units]

    by_service: Model = run_plan(plan_fit("melm", rows, parameters), run_stage)
    by_library = quick().fit(frame, species)
    assert by_library.encoder_ == by_service.encoder
    np.testing.assert_array_equal(by_library.projection_, by_service.projection)
    assert by_library.divergence_ == by_service.card.model_dump()["in_sample"]["divergence"]


def test_folds_have_encoders_of_their_own() -> None:
    """The path chooses by inner folds: what they hold out says nothing about medians and categories."""
    frame, species = penguins()
    data, _ = MELM()._training(frame, species, None)
    everything, inner = data.encoder(), data.encoder((Fold(0, 5, 0),))
    assert everything is not None
    assert inner is not None
    assert everything != inner
    some = MELM(n_starts=1, ridge=1, objective="divergence", random_state=0).fit(frame[::4], species[::4])
    with pytest.warns(UserWarning, match="no training row lacked one"):
        assert some.score(frame, species) > 0.9


def test_rows_are_found_by_the_names_of_their_columns() -> None:
    frame, _survived = passengers()
    found = of_passengers()
    expected = found.transform(frame)
    np.testing.assert_array_equal(found.transform(frame[frame.columns[::-1]]), expected)
    features = frame.drop(columns=["PassengerId", "Name", "Ship", "Cabin"])
    np.testing.assert_array_equal(found.transform(features), expected)
    np.testing.assert_allclose(found.transform(frame[:1]), expected[:1], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="Sex"), r"the column 'Sex' is missing; columns: Pclass, Sex, Age"),
        (lambda frame: frame.assign(Deck="A"), r"columns that were not there at fit: Deck\. Leave them out"),
        (lambda frame: frame.assign(Age="old"), r"the column 'Age' is text, not numbers"),
        (lambda frame: frame.assign(Booked="soon"), r"column 'Booked': 'soon' is not a date or time"),
        (lambda frame: frame.assign(Fare=np.inf), r"row index 0, column 'Fare': the number is infinite"),
        (lambda frame: frame.to_numpy(), r"X is a ndarray; the model takes a DataFrame with the columns Pclass, Sex"),
    ],
)
def test_rows_that_do_not_fit_are_named(change: Callable[[pd.DataFrame], Any], message: str) -> None:
    frame, _survived = passengers()
    found = of_passengers()
    with pytest.raises(ValueError, match=message):
        found.predict(change(frame))


def test_what_training_did_not_have_is_taken_with_a_warning() -> None:
    frame, _survived = passengers()
    found = of_passengers()
    with pytest.warns(UserWarning, match=r"'Sex' has values that no training row had, .*: unknown"):
        found.predict(frame.assign(Sex="unknown"))
    with pytest.warns(UserWarning, match=r"1 value is missing in the column 'Fare'.* taken as the median"):
        found.predict(frame.assign(Fare=frame["Fare"].where(frame.index > 0)))
    assert found.predict(frame.assign(Fare=frame["Fare"].round().astype(int).astype(str))).shape == (N_ROWS,)


def test_a_mapping_sets_roles() -> None:
    frame, survived = passengers()
    found = quick(columns={"Cabin": "categorical", "Age": "ignore", "P*": "ignore", "Name": "info"})
    found.fit(frame, survived)
    assert {"Cabin=C85", "Cabin (missing)"} & set(found.features_)
    assert not {"Age", "Pclass=1"} & set(found.features_)
    iris = load_iris(as_frame=True)
    narrow = quick(columns={"sepal*": "ignore"}).fit(iris.data, iris.target)
    assert narrow.features_.tolist() == ["petal length (cm)", "petal width (cm)"]
    with pytest.raises(ValueError, match="takes a DataFrame with the columns petal length"):
        narrow.predict(iris.data.to_numpy())


def test_weights_and_groups_come_from_columns() -> None:
    frame, survived = passengers()
    counts = np.arange(N_ROWS) % 3
    weighed = quick(columns={"times": "weight"}).fit(frame.assign(times=counts), survived)
    by_argument = quick().fit(frame, survived, sample_weight=counts)
    np.testing.assert_array_equal(weighed.projection_, by_argument.projection_)
    with pytest.raises(ValueError, match="two weights of rows"):
        quick(columns={"times": "weight"}).fit(frame.assign(times=counts), survived, sample_weight=counts)
    data, _ = MELM(columns={"family": "group"})._training(frame.assign(family=counts), survived, None)
    assert data.groups is not None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"Sex": "target"}, "columns makes 'Sex' the target, but the labels are y"),
        ({"Sexx": "ignore"}, "there is no column 'Sexx'; did you mean 'Sex'"),
        ({"Sex": "number"}, "'number' is not a role; roles: numeric"),
        ({"Sex": "numeric"}, "column 'Sex' is not numeric"),
        ({"*": "ignore"}, "no column is a feature"),
        ("all", r"columns='all' is not 'auto', None, or a mapping"),
    ],
)
def test_roles_that_cannot_be(columns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick(columns=columns).fit(*passengers())


def test_roles_of_what_has_no_names() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="columns gives roles by name, and a ndarray has no names"):
        quick(columns={"x0": "ignore"}).fit(X, y)
    frame = pd.DataFrame({0: X[:, 0], 1: "text"})
    with pytest.raises(ValueError, match="The column 0 has no name that is text"):
        quick().fit(frame, y)


@pytest.mark.parametrize("columns", ["auto", None])
def test_arrays_and_frames_of_numbers_are_as_ever(columns: Any) -> None:
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    plain = quick().fit(X, y)
    for make in KINDS.values():
        frame = make(pd.DataFrame(X, columns=names))
        found = quick(columns=columns).fit(frame, y)
        assert found.columns_ is None
        assert found.encoder_ is None
        assert found.feature_names_in_.tolist() == found.features_.tolist() == names
        np.testing.assert_allclose(found.transform(frame), plain.transform(X), atol=1e-12)
    frame = pd.DataFrame(X, columns=names)
    sparse = frame.astype(pd.SparseDtype("float64", 0.0))
    np.testing.assert_allclose(quick(columns=columns).fit(sparse, y).divergence_, plain.divergence_)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        found.predict(frame[names[::-1]])
    constant = quick(columns=columns).fit(frame.assign(index=np.arange(150), constant=1.0), y)
    assert constant.projection_.shape == (6, 2)  # of numbers nothing is left out


def test_strict_is_strict() -> None:
    frame, survived = passengers()
    with pytest.raises(ValueError, match="could not convert string to float"):
        quick(columns=None).fit(frame[["Sex", "Fare"]], survived)
    with pytest.raises(ValueError, match="contains NaN"):
        quick(columns=None).fit(frame[["Age", "Fare"]], survived)
    with pytest.raises(ValueError, match="could not convert string to float"):
        quick().fit(frame[["Sex", "Fare"]].to_numpy(), survived)


def test_labels_are_checked_as_ever() -> None:
    frame, survived = passengers()
    with pytest.raises(ValueError, match="contains NaN"):
        quick().fit(frame, survived.where(survived.index > 0))
    with pytest.raises(ValueError, match=r"At least two classes are needed, got 1 class: .*'no'"):
        quick().fit(frame, np.full(N_ROWS, "no"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quick().fit(frame, survived[:-1])


def test_odd_cells() -> None:
    """Text among numbers is text; a date that may be read two ways is asked about; infinity has a name."""
    frame, survived = passengers()
    mixed = pd.Series(["a", 1, 2.5, None] * (N_ROWS // 4), dtype=object)
    found = quick().fit(frame.assign(mixed=mixed), survived)
    assert {"mixed=1", "mixed=2.5", "mixed=a"} < set(found.features_)
    numbered = pd.Categorical([3, 7] * (N_ROWS // 2))
    assert {"deck=3", "deck=7"} < set(quick().fit(frame.assign(deck=numbered), survived).features_)
    with pytest.warns(UserWarning, match="'03/04/2024' may have the month or the day first"):
        quick().fit(frame.assign(day=["03/04/2024", "05/06/2023"] * (N_ROWS // 2)), survived)
    with pytest.raises(ValueError, match="Columns hold infinity: Fare"):
        quick().fit(frame.assign(Fare=np.inf, Age=frame["Fare"]).assign(Fare=[1.0, np.inf] * 120), survived)
    with pytest.raises(ValueError, match=r"The column 'lists' holds list.* values: send numbers, text, dates or times"):
        quick().fit(frame.assign(lists=[[1, 2]] * N_ROWS), survived)


def test_a_model_that_is_kept_asks_for_the_same_columns(tmp_path: Path) -> None:
    frame, _survived = passengers()
    found = of_passengers()
    expected = found.predict_proba(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict_proba(frame), expected)  # noqa: S301
    found.save(tmp_path / "model.npz")
    loaded = MELM.load(tmp_path / "model.npz")
    assert loaded.encoder_ == found.encoder_
    assert loaded.feature_names_in_.tolist() == ["Pclass", "Sex", "Age", "Fare", "Booked", "IsAlone"]
    features = frame[loaded.feature_names_in_[::-1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(loaded.predict_proba(features), expected)
    with pytest.warns(UserWarning, match="Columns that the model does not use were ignored: PassengerId, Name"):
        np.testing.assert_array_equal(loaded.predict_proba(frame), expected)
    with pytest.raises(NotFittedError):
        clone(found).predict(frame)


def test_in_a_search_and_in_a_pipeline() -> None:
    frame, species = penguins()
    scores = cross_val_score(quick(), frame, species, error_score="raise")
    assert scores.min() > 0.9
    search = GridSearchCV(quick(), {"columns": ["auto", {"island": "ignore"}]}, cv=2).fit(frame, species)
    assert search.best_score_ > 0.9
    chosen = make_column_selector(dtype_exclude="number")(frame)
    pipeline = make_pipeline(quick().set_output(transform="pandas")).fit(frame[[*chosen, "bill_length_mm"]], species)
    assert list(pipeline.transform(frame[[*chosen, "bill_length_mm"]]).columns) == ["melm0", "melm1"]


def test_output_comes_as_it_is_asked_for() -> None:
    frame, survived = passengers()
    frame.index = frame.index + 1000
    found = quick().fit(frame, survived)
    as_pandas = found.set_output(transform="pandas").transform(frame)
    assert list(as_pandas.columns) == found.get_feature_names_out().tolist() == ["melm0", "melm1"]
    assert as_pandas.index[0] == 1000
    as_polars = found.set_output(transform="polars").transform(pl.from_pandas(frame))
    assert isinstance(as_polars, pl.DataFrame)
    np.testing.assert_array_equal(as_polars.to_numpy(), as_pandas.to_numpy())


def test_without_pyarrow_numbers_are_fitted_and_text_names_the_extra() -> None:
    program = """
        import sys
        sys.modules["pyarrow"] = None
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "pyarrow" else find(name, *rest)
        import pandas as pd
        from sklearn.datasets import load_iris
        import melm.tables.reading, melm.tables.encoding
        from melm import MELM
        iris = load_iris(as_frame=True)
        MELM(regularization=None, n_starts=2).fit(iris.data, iris.target)
        try:
            MELM().fit(iris.data.assign(text="a"), iris.target)
        except ImportError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    needs = "a DataFrame with text, dates or missing values needs pyarrow: pip install 'melm[tables]'"
    assert run.stdout.strip() == needs, run.stderr
