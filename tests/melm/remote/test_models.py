"""Models on a real service."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from melm import MELM
from melm.remote import Client, Conflict, Invalid, Model, NotFound
from melm.typing import AnyArray
from tests.service import samples


def test_the_local_copy_predicts_the_same_bits(model: Model, irises: tuple[AnyArray, AnyArray]) -> None:
    X, _ = irises
    local = model.to_local()
    assert isinstance(local, MELM)
    for name in ("transform", "predict", "predict_proba", "log_density"):
        assert np.array_equal(getattr(local, name)(pd.DataFrame(X, columns=samples.FEATURES)), getattr(model, name)(X))


def test_labels_come_back_as_they_were_given(model: Model, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    assert set(model.predict(X)) == set(y)
    scores = model.score(X, y)
    assert scores["accuracy"] == (model.predict(X) == y).mean()


def test_columns_are_put_in_order_by_name(model: Model, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    frame = pd.DataFrame(X, columns=samples.FEATURES)[samples.FEATURES[::-1]]
    assert np.array_equal(model.transform(frame), model.transform(X))
    assert model.score(frame, y)["confusion"] == model.score(X, y)["confusion"]


def test_a_file_goes_there_and_back(
    client: Client, model: Model, irises: tuple[AnyArray, AnyArray], tmp_path: Path
) -> None:
    X, _ = irises
    path = model.download(tmp_path / "model.npz")
    assert np.array_equal(MELM.load(path).transform(pd.DataFrame(X, columns=samples.FEATURES)), model.transform(X))
    copy = client.models.upload(path, name="copy")
    assert copy.id != model.id
    assert copy.record.name == "copy"
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    copy.delete()
    with pytest.raises(NotFound):
        copy.describe()


def test_an_alias_stands_for_the_model(client: Client, model: Model, irises: tuple[AnyArray, AnyArray]) -> None:
    X, _ = irises
    champion = model.alias("champion")
    assert champion.record == model.record
    assert np.array_equal(client.models["champion"].transform(X), model.transform(X))
    with pytest.raises(Conflict):
        model.delete()


def test_all_models_can_be_gone_through(client: Client, model: Model) -> None:
    assert model.id in [each.record.id for each in client.models]


def test_a_plot_is_svg(model: Model) -> None:
    assert model.plot().startswith("<svg")


def test_rows_that_do_not_fit_are_refused(model: Model) -> None:
    with pytest.raises(Invalid, match="rows have 3 values, the model takes 4"):
        model.predict([[1.0, 2.0, 3.0]])
