"""Data frames of pandas, polars and Arrow through RemoteMELM and the client: the same model whatever they come as."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import train_test_split

from melm import MELM
from melm.remote import Client, Invalid, RemoteMELM
from melm.remote.table_body import frame_body, table_body
from melm.tables.arrow import read_stream
from melm.tables.files import ARROW, JSON
from tests.running_service import RunningService

QUICK: dict[str, Any] = {"regularization": None, "n_starts": 2, "random_state": 3}


def passengers() -> tuple[pd.DataFrame, pd.Series[str]]:
    """A table as people have them: an id, text, a category that is a number, dates, and missing values."""
    generator = np.random.default_rng(0)
    n_rows = 120
    sex = generator.choice(["female", "male"], n_rows)
    survived = generator.random(n_rows) < np.where(sex == "female", 0.75, 0.2)
    age = np.where(generator.random(n_rows) < 0.2, np.nan, generator.normal(30 + 5 * survived, 9, n_rows).round())
    frame = pd.DataFrame(
        {
            "ticket": [f"T{number}" for number in range(n_rows)],
            "class": pd.Categorical(generator.choice(["1st", "2nd", "3rd"], n_rows)),
            "sex": sex,
            "age": age,
            "fare": (generator.lognormal(3, 0.5, n_rows) * (1 + survived)).round(2),
            "port": generator.choice(np.array(["S", "C", None], object), n_rows, p=[0.5, 0.4, 0.1]),
            "boarded": pd.Timestamp("1912-04-10") + pd.to_timedelta(generator.integers(0, 30, n_rows), "D"),
        }
    )
    return frame, pd.Series(np.where(survived, "yes", "no"))


FORMS: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(scope="module")
def fitted(service: RunningService) -> RemoteMELM:
    """What a frame of pandas leads to, whose index is not in order."""
    X, y = passengers()
    return RemoteMELM(service.url, **QUICK).fit(*train_test_split(X, y, random_state=0)[::2])


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_frame_leads_to_the_same_model(service: RunningService, fitted: RemoteMELM, form: str) -> None:
    shown, hidden, labels, _ = train_test_split(*passengers(), random_state=0)
    estimator = RemoteMELM(service.url, **QUICK).fit(FORMS[form](shown), labels)
    assert np.array_equal(estimator.projection_, fitted.projection_)
    assert estimator.columns_ == {
        "ticket": "id",
        "class": "categorical",
        "sex": "categorical",
        "age": "numeric",
        "fare": "numeric",
        "port": "categorical",
        "boarded": "time",
    }
    assert "age (missing)" in estimator.features_
    assert estimator.n_features_in_ == 7
    assert estimator.feature_names_in_.tolist() == list(shown.columns)
    assert len(estimator.features_) == len(estimator.projection_)
    for ask in ("predict", "transform", "predict_proba", "log_density"):
        expected = getattr(fitted, ask)(hidden)
        assert np.array_equal(getattr(estimator, ask)(FORMS[form](hidden)), expected)


def test_answers_come_in_the_frame_that_is_asked_for(service: RunningService, fitted: RemoteMELM) -> None:
    X, _ = passengers()
    estimator = pickle.loads(pickle.dumps(fitted)).set_output(transform="pandas")  # noqa: S301 (our own bytes)
    found = estimator.transform(X.iloc[[5, 2]])
    assert found.columns.tolist() == estimator.get_feature_names_out().tolist() == ["remotemelm0", "remotemelm1"]
    assert found.index.tolist() == [5, 2]
    assert isinstance(estimator.set_output(transform="polars").transform(pl.from_pandas(X)), pl.DataFrame)


def test_roles_are_an_argument(service: RunningService) -> None:
    X, y = passengers()
    roles = {"class": "info", "p*": "ignore", "ticket": "group"}
    estimator = RemoteMELM(service.url, columns=roles, **QUICK).fit(X, y)
    assert estimator.columns_ is not None
    assert (estimator.columns_["port"], estimator.columns_["ticket"]) == ("ignore", "group")
    assert not any(name.startswith("class") for name in estimator.features_)
    numbers = X[["fare", "age"]].fillna(0)
    assert RemoteMELM(service.url, **QUICK).fit(numbers, y).columns_ is None
    assert RemoteMELM(service.url, columns={"fare": "numeric"}, **QUICK).fit(numbers, y).columns_ is not None
    with pytest.raises(ValueError, match="could not convert string"):
        RemoteMELM(service.url, columns=None, **QUICK).fit(X, y)
    with pytest.raises(Invalid, match="is not a role"):
        RemoteMELM(service.url, columns={"fare": "number"}, **QUICK).fit(X, y)


def test_numbers_that_are_categories_are_no_numbers(service: RunningService) -> None:
    X, y = passengers()
    X["class"] = pd.Categorical(X["class"].cat.codes + 1)
    for labels in (y, y == "yes"):  # as Arrow, and as JSON
        estimator = RemoteMELM(service.url, **QUICK).fit(X, labels)
        assert {"class=1", "class=2", "class=3"} <= set(estimator.features_)


def test_rows_that_do_not_fit_are_named(fitted: RemoteMELM) -> None:
    X, _ = passengers()
    with pytest.raises(Invalid, match="the column 'sex' is missing"):
        fitted.predict(X.drop(columns="sex"))
    with pytest.raises(ValueError, match="columns that were not there at fit: shoes"):
        fitted.predict(X.assign(shoes=43))
    with pytest.raises(ValueError, match="the model takes a data frame"):
        fitted.predict(X[["age", "fare"]].to_numpy())
    assert fitted.predict(X[list(X.columns[::-1])]).tolist() == fitted.predict(X).tolist()


def test_labels_keep_their_type(service: RunningService) -> None:
    X, y = passengers()
    survived = (y == "yes").to_numpy()
    by_text = RemoteMELM(service.url, **QUICK).fit(X, y)
    for labels in (survived, survived.astype(int), pl.Series(survived.astype(int))):
        estimator = RemoteMELM(service.url, **QUICK).fit(X, labels)
        assert estimator.classes_.dtype == estimator.predict(X).dtype == np.asarray(labels).dtype
        found = estimator.predict(X) == estimator.classes_[1]
        assert found.tolist() == (by_text.predict(X) == "yes").tolist()


def test_a_frame_of_numbers_is_the_matrix_that_it_was(service: RunningService) -> None:
    X, y = passengers()
    numbers = X[["fare"]].assign(length=X["fare"].rank())
    remote, local = (
        RemoteMELM(service.url, **QUICK).fit(numbers, y),
        MELM(**QUICK).fit(np.ascontiguousarray(numbers.to_numpy()), y),
    )
    assert np.array_equal(remote.projection_, local.projection_)
    assert remote.features_.tolist() == ["fare", "length"]


def test_the_client_takes_frames_with_options(service: RunningService) -> None:
    X, y = passengers()
    with Client(service.url) as client:
        dataset = client.datasets.upload(pl.from_pandas(X), y, columns={"port": "ignore"}, drop_missing=True)
        assert dataset.n_rows == int(X.drop(columns="port").notna().all(axis=1).sum())
        rows = client.datasets.rows(dataset)
        assert pd.DataFrame(rows)["sex"].isin(["female", "male"]).all()
        named = client.datasets.upload(X.assign(survived=y), target="survived")
        assert named.classes == ["no", "yes"]
        model = client.fits.submit(named, params={"regularization": None, "n_starts": 1}, validation=None).wait()
        assert model.score(X.assign(survived=y), target="survived") == model.score(X, y)
        with pytest.raises(ValueError, match="either y or the column target"):
            client.datasets.upload(X, y, target="sex")


def test_frames_travel_as_arrow_without_their_index() -> None:
    X, y = passengers()
    body = table_body(X.iloc[::-1], y)
    assert body is not None
    assert isinstance(body.content, bytes)
    assert (body.media_type, body.target, body.columns) == (ARROW.media_type, "y", {"class": "categorical"})
    assert read_stream(body.content).names == (*X.columns, "y")
    assert frame_body(X.rename(columns={"sex": "y"}), y).target == "y_"
    with pytest.raises(ValueError, match="There are 3 labels for 120 rows"):
        frame_body(X, ["a", "b", "a"])


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_where_arrow_is_not_installed_they_travel_as_json(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    frame = FORMS[form](passengers()[0][["age", "sex", "boarded"]])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    body = frame_body(frame)
    assert body.media_type == JSON.media_type
    assert isinstance(body.content, bytes)
    first = json.loads(body.content)["rows"][0]
    assert set(first) == {"age", "sex", "boarded"}
    assert first["boarded"].startswith("1912-0")


def test_columns_that_mix_types_travel_as_json() -> None:
    mixed = pd.DataFrame({"a": [1, "x"], "b": [None, 2.5]})
    body = frame_body(mixed, [True, False])
    assert isinstance(body.content, bytes)
    assert json.loads(body.content) == {"rows": [{"a": 1, "b": None}, {"a": "x", "b": 2.5}], "y": [True, False]}
