"""Rows that are chosen in the picture, and what can be asked of them."""

from __future__ import annotations

import csv
from typing import Any

import httpx2
import numpy as np
from playwright.sync_api import Page, expect
from sklearn.datasets import load_iris

from tests.browser.steps import fit_sample
from tests.running_service import RunningService

DISTINGUISH = """async ([columns, inside, outside]) => {
    const { distinguish } = await import(new URL("web/picture/distinction.js", document.baseURI));
    return distinguish(columns, inside, outside).map(({ name, effect, interval }) => ({ name, effect, interval }));
}"""

MAKE_UP = """async (model) => {
    const { makeUp } = await import(new URL("web/views/make_up.js", document.baseURI));
    const node = makeUp(model, { selection: { size: 0, onChange() {} } });
    return [node.textContent, [...node.querySelectorAll(".unsure th")].map((name) => name.textContent)];
}"""


def title(page: Page) -> str:
    """How many rows are selected, and how."""
    return page.locator("#selection-title").inner_text()


def test_a_lasso_selects_what_lies_in_it(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.get_by_label("Color by").select_option("Color by sepal width (cm)")
    page.locator("label[for=tool-box]").click()
    canvas = page.locator(".stage canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 50, box["y"] + 16)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 46, steps=4)
    page.mouse.up()
    assert title(page) == "150 selected rows · rows in a box"
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".selection")).to_be_hidden()


def test_selected_rows_are_listed_compared_and_exported(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.get_by_label("Select rows").select_option("Class setosa")
    assert title(page) == "50 selected rows · class setosa"
    expect(page.locator(".distinction li").first).to_contain_text("petal length (cm)−5.02")
    expect(page.locator(".distinction li", has_text="species")).to_contain_text("setosa: 100 %, elsewhere 0 %")
    page.get_by_role("button", name="sepal width (cm)", exact=True).click()
    widths = load_iris().data[:50, 1]
    first_row = page.locator(".rows tbody tr").first
    expect(first_row).to_contain_text(f"{widths.min():g}")
    page.get_by_label("Search the rows").fill("row 42")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    with download.value.path().open() as file:
        rows = list(csv.DictReader(file))
    assert [row["species"] for row in rows] == ["setosa"] * 50
    np.testing.assert_allclose([float(row["sepal width (cm)"]) for row in rows], widths)


def test_a_cell_of_the_confusion_and_a_search_select(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    fit_id = page.url.rpartition("/")[2]
    model_id = httpx2.get(f"{service.url}/v1/fits/{fit_id}").json()["model_id"]
    confusion = httpx2.get(f"{service.url}/v1/models/{model_id}").json()["card"]["validation"]["confusion"]
    wrong = sum(map(sum, confusion)) - sum(confusion[code][code] for code in range(3))
    expect(page.get_by_label("Select rows")).to_be_visible()
    page.get_by_label("Select rows").select_option("Rows recognized wrongly")
    assert title(page) == f"{wrong} selected row{'s' * (wrong != 1)} · rows recognized wrongly"
    page.get_by_role("button", name="of setosa taken for setosa").press("Enter")
    assert title(page) == f"{confusion[0][0]} selected rows · setosa, recognized"
    page.get_by_label("Find rows").fill("Row 7")
    page.get_by_label("Find rows").press("Enter")
    assert title(page) == "1 selected row · rows with “Row 7”"
    expect(page.locator(".tooltip")).to_contain_text("Row 7 · setosa")


def test_differences_are_hedges_and_cohens(page: Page) -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(1, 2, 30), generator.normal(0, 1, 50)
    kinds = ["x"] * 15 + ["y"] * 15 + ["x"] * 10 + ["y"] * 40
    columns: list[dict[str, Any]] = [
        {"name": "number", "values": [*a, *b]},
        {"name": "kind", "values": kinds},
        {"name": "constant", "values": [1] * 80},
        {"name": "lacking", "values": [None] * 27 + [1.0, 2.0, 3.0] + [1.0, 2.0] * 25},
    ]
    found = page.evaluate(DISTINGUISH, [columns, list(range(30)), list(range(30, 80))])
    by_name = {each["name"]: each for each in found}
    assert set(by_name) == {"number", "kind", "lacking"}
    pooled = np.sqrt((29 * a.var(ddof=1) + 49 * b.var(ddof=1)) / 78)
    g = (1 - 3 / (4 * 80 - 9)) * (a.mean() - b.mean()) / pooled
    np.testing.assert_allclose(by_name["number"]["effect"], g)
    error = np.sqrt(80 / (30 * 50) + g**2 / 160)
    np.testing.assert_allclose(by_name["number"]["interval"], [g - 1.96 * error, g + 1.96 * error])
    np.testing.assert_allclose(
        abs(by_name["kind"]["effect"]), abs(2 * np.arcsin(np.sqrt(0.5)) - 2 * np.arcsin(np.sqrt(0.2)))
    )
    shares = 2 * np.arcsin(np.sqrt([0.9, 0.0]))  # missing values tell more than those that are there
    np.testing.assert_allclose(by_name["lacking"]["effect"], shares[0] - shares[1])


def test_marks_in_the_weights_add_up_to_where_the_selected_rows_are(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    with page.expect_download() as download:
        page.get_by_role("button", name="Projected rows (CSV)").click()
    with download.value.path().open() as file:
        rows = list(csv.DictReader(file))
    Z = np.array([[float(row["z0"]), float(row["z1"])] for row in rows])
    is_setosa = np.array([row["class"] == "setosa" for row in rows])
    page.get_by_label("Select rows").select_option("Class setosa")
    marks = page.locator(".axes .mark")
    expect(marks).to_have_count(8)
    titles = [mark.get_attribute("title") or "" for mark in marks.all()]
    pushes = np.array([float(title.removeprefix("selected rows: ").replace("−", "-")) for title in titles])
    np.testing.assert_allclose(pushes.reshape(2, 4).sum(axis=1), Z[is_setosa].mean(axis=0) - Z.mean(axis=0), atol=0.03)


def test_features_that_few_folds_keep_are_faint(page: Page) -> None:
    kept = [{"feature": "a", "share_of_folds": 1.0}, {"feature": "c", "share_of_folds": 0.2}]
    card = {
        "features": ["a", "b", "c"],
        "loadings": [[2.0, 1.0], [0.0, 0.0], [1.0, 3.0]],
        "data": {"n_features": 2000},
        "search": {"chosen": {"kept": kept}},
    }
    text, faint = page.evaluate(MAKE_UP, {"card": card, "projection": card["loadings"]})
    assert "The picture uses 2 of 2,000 features; every fold chose 1 of them." in text
    assert faint == ["c", "c"]
