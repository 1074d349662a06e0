"""Plots: lines where they belong, and nothing of a label that a browser would run."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from melm import MELM
from melm.evidence.validation import Validation
from melm.methods import fit
from melm.model import Model
from service.pictures import plot
from service.pictures.heading import heading_of


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 3)) - 2, rng.normal(size=(60, 3)) + 2])
    y = np.repeat(["<script>alert(1)</script>", "b & c"], 60)
    fitted: Model = MELM(regularization=None, n_starts=1).fit(X, y).model_
    return fitted


def test_contour_follows_the_circle() -> None:
    x, y = np.linspace(-2, 2, 81), np.linspace(-3, 3, 121)
    values = 1 - x[None, :] ** 2 - y[:, None] ** 2
    segments = np.array(plot.contour(x, y, values))
    np.testing.assert_allclose(np.hypot(segments[:, 0], segments[:, 1]), 1, atol=1e-3)
    length = np.hypot(segments[:, 2] - segments[:, 0], segments[:, 3] - segments[:, 1]).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-3)


def test_no_contour_where_nothing_crosses() -> None:
    grid = np.linspace(0, 1, 5)
    assert plot.contour(grid, grid, np.ones((5, 5))) == []


def test_boundary_is_where_the_prediction_changes(model: Model) -> None:
    (panel,) = plot.describe(model, "mdl_1").panels
    segments = np.array(panel.boundary)
    middles = (segments[:, :2] + segments[:, 2:]) / 2
    posteriors = np.exp(model.densities.log_posteriors(middles))
    assert np.median(np.abs(posteriors[:, 0] - 0.5)) < 0.1


def test_labels_are_text_in_the_drawing(model: Model) -> None:
    drawn = plot.draw(plot.describe(model, "mdl_1"))
    root = ET.fromstring(drawn)  # noqa: S314 (our own drawing)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any((text or "").startswith("<script>alert(1)") for text in texts)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_points_are_thinned_in_proportion(model: Model) -> None:
    described = plot.describe(model, "mdl_1", max_points=20)
    assert described.n_rows == 120
    assert [len(series.points) for series in described.panels[0].series] == [10, 10]


@pytest.mark.parametrize(("low", "high"), [(-3.2, 4.7), (0.0, 1e-6), (1e9, 1e9 + 5)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = list(plot.ticks([low, high]))
    assert 3 <= len(ticks) <= 8
    assert all(0 <= share <= 1 for _, share in ticks)


def test_a_picture_that_is_taken_along_says_what_it_shows_and_whether_it_holds() -> None:
    generator = np.random.default_rng(0)
    y = np.array([f"class number {code} of many" for code in np.arange(120) % 12])
    fitted = fit("lda", generator.normal(size=(120, 5)), y, validation=Validation(folds=2))
    assert fitted.card.verdict is not None
    drawn = plot.draw(plot.describe(fitted, "mdl_1"), heading_of(fitted, "twelve classes", "kind"))
    root = ET.fromstring(drawn)  # noqa: S314 (our own drawing)
    elements = list(root.iter("{http://www.w3.org/2000/svg}text"))
    texts = [element.text or "" for element in elements]
    assert texts[0] == "twelve classes"
    assert "12 classes by kind" in " ".join(texts)
    assert "balanced accuracy on held-out rows" in " ".join(texts)
    assert fitted.card.verdict.sentence in " ".join(texts)
    assert set(y) <= set(texts)
    ends = [float(element.attrib["x"]) + 7 * len(element.text or "") for element in elements if element.text in set(y)]
    assert max(ends) < float(root.attrib["width"])


def test_classes_differ_by_color_or_shape_and_axes_are_named() -> None:
    generator = np.random.default_rng(0)
    y = np.array([f"class {code:02}" for code in np.arange(120) % 12])
    fitted = fit("lda", generator.normal(size=(120, 3)), y)
    described = plot.with_axis_names(plot.describe(fitted, "mdl_1"), fitted)
    marks = {plot.draw_mark(0, 0, code, 5) for code in range(12)}
    assert len(marks) == 12
    panel = described.panels[0]
    strongest = int(np.argmax(np.abs(np.array(fitted.card.loadings)[:, 0])))
    assert fitted.card.features[strongest] in panel.x_label
    assert panel.x_label != panel.y_label


def test_a_few_far_rows_do_not_press_the_others_together() -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=300)
    rows[:2] = 500.0
    low, high = plot.limits([rows, generator.normal(3, 1, 200)])
    assert (np.quantile(rows, 0.975) - np.quantile(rows, 0.025)) / (high - low) > 0.4
    assert plot.limits([rows, generator.normal(100, 1, 20)])[1] > 100  # a class that lies far away is seen
