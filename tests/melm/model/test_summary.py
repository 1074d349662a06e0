"""What a model shows of itself in a console, in a notebook, and as DataFrames."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_iris

from melm import MELM
from melm.methods import fit


@cache
def fitted() -> MELM:
    return MELM(regularization=None, n_starts=2, random_state=0).fit(*load_iris(return_X_y=True, as_frame=True))


@cache
def judged() -> MELM:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return MELM(regularization=None, n_starts=2, random_state=0).fit(X, y).validate(X, y, folds=3)


def test_a_console_shows_verdict_sizes_and_how_to_go_on() -> None:
    lines = repr(fitted().model_).splitlines()
    assert lines[0] == "Model by melm: 150 rows, 4 features, 2 components. Classes: 0 (50), 1 (50), 2 (50)."
    assert lines[1].startswith("This fit was not judged on held-out rows")
    assert lines[-1].startswith("How to go on: estimator.validate(X, y), model.plot()")
    after = repr(judged().model_)
    assert str(judged().verdict_).splitlines()[0] in after
    assert "model.importance()" in after
    assert "validate" not in repr(fit("lda", *load_iris(return_X_y=True))).splitlines()[-1]


def test_a_notebook_shows_a_picture_as_well() -> None:
    shown = judged().model_._repr_html_()
    document = ElementTree.fromstring(shown)  # noqa: S314 - our own
    assert document.find("p/b") is not None
    assert len(document.findall("{http://www.w3.org/2000/svg}svg")) == 1
    assert next(document.iter("code")).text == "model.plot()"


def test_names_from_elsewhere_are_no_markup() -> None:
    X, y = load_iris(return_X_y=True)
    shown = MELM(regularization=None, n_starts=1).fit(X, np.where(y == 0, "<script>", "b"))._repr_html_()
    model = MELM(regularization=None, n_starts=1).fit(X, np.where(y == 0, "<script>", "b")).model_
    assert "<script>" not in model._repr_html_()
    assert "sk-" in shown  # of the estimator it is scikit-learn's


def test_what_the_card_knows_comes_as_frames() -> None:
    model = judged().model_
    names = list(load_iris(as_frame=True).data.columns)
    assert model.loadings().index.tolist() == model.axis_correlations().index.tolist() == names
    assert model.loadings().columns.tolist() == ["z0", "z1"]
    np.testing.assert_array_equal(model.loadings(), model.standardized_loadings)
    importance = model.importance()
    assert sorted(importance.index) == sorted(names)
    assert importance["balanced_accuracy_drop"].is_monotonic_decreasing
    assert model.confusion().to_numpy().sum() == 150
    assert model.confusion().index.tolist() == [0, 1, 2]
    assert model.starts()["divergence"].max() == pytest.approx(judged().divergence_)


def test_what_the_card_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"no importance, because .* MELM.validate\(X, y\) does that"):
        fitted().model_.importance()
    with pytest.raises(ValueError, match="no confusion of held-out rows"):
        fitted().model_.confusion()
    with pytest.raises(ValueError, match="'lda' has no starts"):
        fit("lda", *load_iris(return_X_y=True)).starts()


def test_without_pandas_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def find(name: str, *arguments: Any) -> Any:
        return None if name == "pandas" else find_spec(name, *arguments)

    monkeypatch.setattr("melm.model.frames.find_spec", find)
    with pytest.raises(ModuleNotFoundError, match="A DataFrame needs pandas: pip install pandas"):
        fitted().model_.loadings()
