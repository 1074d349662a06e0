"""Pictures by matplotlib: what is in them, for one, two and more components."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Annotation
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import melm
from melm import MELM, ProjectionDisplay
from melm.model.display import _apart

Wine = tuple[Any, Any]


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    """On no screen, and closed."""
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    pyplot.close("all")
    mpl.use(before)


@cache
def wine() -> Wine:
    found: Wine = load_wine(return_X_y=True, as_frame=True)
    return found[0], np.array(["barolo", "grignolino", "barbera"])[found[1]]


@cache
def fitted(n_components: int = 2) -> MELM:
    return MELM(n_components, regularization=None, n_starts=1, random_state=0).fit(*wine())


@cache
def judged() -> MELM:
    return MELM(regularization=None, n_starts=1, random_state=0).fit(*wine()).validate(*wine(), folds=2)


def n_points(ax: Any) -> list[int]:
    return [len(np.asarray(each.get_offsets())) for each in ax.collections if isinstance(each, PathCollection)]


def names_in(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text() and not isinstance(text, Annotation)]


def test_two_components_show_rows_contours_boundary_arrows_and_the_verdict() -> None:
    ax = melm.plot(judged())
    assert "Clear: new rows fall where the picture says." in ax.get_title(loc="left").replace("\n", " ")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["barbera", "barolo", "grignolino", "held out", "boundary"]
    assert n_points(ax) == [48, 48, 59, 59, 71, 71, 0]  # of each class as points and as rings; for the legend
    assert sum(isinstance(each, LineCollection) for each in ax.collections) == 3 * 4 + 1
    assert len(names_in(ax)) == 6
    assert set(names_in(ax)) < set(wine()[0].columns)
    assert ax.get_xlabel() != "z0"  # named by the columns that weigh most


def test_an_arrow_leads_where_its_feature_moves_rows() -> None:
    ax = melm.plot(fitted(), arrows=20)
    arrows = dict(zip(names_in(ax), ax.texts[::2], strict=True))
    directions = fitted().model_.loadings()
    spread = fitted().transform(wine()[0]).std(axis=0)
    for name, arrow in arrows.items():
        step = np.array(arrow.xy) - np.array(arrow.xyann)
        expected = directions.loc[name].to_numpy() * spread
        np.testing.assert_allclose(step / np.linalg.norm(step), expected / np.linalg.norm(expected), atol=0.02)


def test_names_do_not_cover_each_other_and_stay_inside() -> None:
    ax = pyplot.figure().subplots()
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    names = ["alcohol", "malic acid", "ash", "alcalinity of ash", "magnesium"]
    tips = np.array([[0.5, 0.5], [0.5, 0.52], [0.48, 0.5], [0.99, 0.0], [0.98, 0.01]])
    for (x, y), name in zip(_apart(ax, tips, np.zeros(2), names), names, strict=True):
        ax.text(x, y, name, fontsize="small", ha="center", va="center")
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(boxes[a].overlaps(boxes[b]) for a in range(len(boxes)) for b in range(a))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_one_component_shows_densities() -> None:
    X, y = wine()
    ax = melm.plot(fitted(1), X, y)
    curves = [line for line in ax.lines if len(line.get_xdata()) > 200]
    assert len(curves) == 3
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in curves]
    np.testing.assert_allclose(sum(areas), 1, atol=0.02)
    assert "This fit was not judged on held-out rows" in ax.get_title(loc="left").replace("\n", " ")


def test_three_components_show_pairs_without_a_boundary() -> None:
    axes = melm.plot(fitted(3))
    assert len(axes) == 3
    assert all(sum(isinstance(each, LineCollection) for each in ax.collections) == 3 * 4 for ax in axes)
    with pytest.raises(ValueError, match="3 pairs of components do not fit into one ax"):
        melm.plot(fitted(3), ax=pyplot.figure().subplots())


def test_rows_of_ones_own_in_axes_of_ones_own() -> None:
    X, y = wine()
    some = pyplot.figure().subplots()
    display = ProjectionDisplay.from_estimator(fitted(), X[:70], y[:70], ax=some, arrows=0)
    assert display.ax_ is some
    assert display.figure_ is some.figure
    assert n_points(some) == [0, 0, 59, 0, 11, 0]
    assert not names_in(some)
    again = display.plot().ax_
    assert again is not None
    assert again is not some


def test_rows_without_labels_have_those_that_are_predicted() -> None:
    X, _ = wine()
    ax = fitted().plot(X)
    counts = [int((fitted().predict(X) == label).sum()) for label in fitted().classes_]
    assert n_points(ax)[::2] == counts


def test_pipelines_and_models_can_be_drawn() -> None:
    X, y = wine()
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), MELM(regularization=None, n_starts=1))
    melm.plot(pipeline.fit(X, y), X, y)
    assert melm.plot(fitted().model_) is not None
    assert fitted().model_.plot() is not None
    table = X.assign(shop=["north", "south"] * 89)
    of_table = MELM(regularization=None, n_starts=1, random_state=0).fit(table, y)
    assert n_points(melm.plot(of_table.model_, table, y)) == n_points(melm.plot(of_table, table, y))


class OfService:
    """A model that is elsewhere, as far as a picture asks."""

    def to_local(self) -> MELM:
        return fitted()


def test_models_of_a_service_can_be_drawn() -> None:
    assert n_points(melm.plot(OfService())) == n_points(melm.plot(fitted()))


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (lambda: melm.plot(MELM()), "this MELM is not fitted yet"),
        (lambda: melm.plot("a model"), "this str is neither of them"),
        (lambda: melm.plot(fitted(), y=wine()[1]), "X is missing"),
        (lambda: melm.plot(fitted(), wine()[0], wine()[1][:9]), r"X has 178 rows, y has shape \(9,\)"),
        (lambda: melm.plot(fitted(), wine()[0], np.full(178, "nebbiolo")), "does not know: nebbiolo"),
    ],
)
def test_what_cannot_be_drawn(drawn: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drawn()


def test_many_classes_and_far_rows() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((240, 4)), np.arange(240) % 12
    X[:, 0] += y
    X[0] = 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = melm.plot(MELM(regularization=None, n_starts=1, random_state=0).fit(X, y))
        ax.figure.canvas.draw()
    assert len(ax.get_legend().get_texts()) == 13


def test_without_matplotlib_the_extra_is_named() -> None:
    program = """
        import sys
        sys.modules["matplotlib"] = None
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
        from sklearn.datasets import load_iris
        from melm import MELM, plot
        try:
            plot(MELM(regularization=None, n_starts=1).fit(*load_iris(return_X_y=True)))
        except ImportError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "a plot needs matplotlib: pip install 'melm[plot]'", run.stderr
