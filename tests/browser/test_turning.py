"""A picture that is turned by its variables: the same numbers as the library's, and no slower for more columns."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sklearn.datasets import load_iris

from melm.objective.divergence import divergence
from melm.typing import Array
from tests.browser.steps import fit_sample
from tests.running_service import RunningService

FRAME_MILLISECONDS = """async (widths) => {
    const load = (name) => import(new URL(`web/picture/${name}.js`, document.baseURI));
    const [{ Cloud }, { Flat }, { Turning }] = await Promise.all(["cloud", "flat", "turning"].map(load));
    const circle = (radius) => Array.from({ length: 200 }, (_, index) => [index, index + 1].flatMap((at) => {
        const angle = (at % 200) * Math.PI / 100;
        return [radius * Math.cos(angle), radius * Math.sin(angle)];
    }));
    const contours = [0.05, 0.2, 0.5, 0.8].map((level) => ({ level, segments: circle(0.4 * level) }));
    const [n, panel] = [50000, { series: [{ contours }, { contours }], boundary: circle(0.2) }];
    const make = (d) => {
        const X = Float32Array.from({ length: n * d }, () => Math.random() - 0.5);
        const codes = Int32Array.from({ length: n }, (_, row) => row % 2);
        const places = Float64Array.from({ length: 2 * n }, (_, at) => X[d * (at >> 1) + (at & 1)]);
        const parts = { places, k: 2, axes: [0, 1], codes, kinds: new Uint8Array(n), rows: codes, describe: () => [] };
        const stage = new Flat(new Cloud(parts), panel, ["a", "b"], "cloud");
        stage.node.style.cssText = "width: 600px; height: 600px";
        document.body.append(stage.node);
        const features = { X, codes, scale: new Float64Array(d).fill(1), center: new Float64Array(d) };
        const V = Array.from({ length: d }, (_, j) => [Number(j === 0), Number(j === 1)]);
        const names = V.map((_, j) => `x${j}`);
        const card = { gamma: 1 };
        const model = { card, classes: [0, 1], projection: V, feature_names: names, offset: names.map(() => 0) };
        const source = { worker: () => ({ postMessage() {}, terminate() {} }) };
        const columns = names.map((name, j) => ({ name, features: [j] }));
        const turning = new Turning({ stage, features, model, columns, source, onSeparation: () => {} });
        turning.showArrows(5);
        return { stage, turning };
    };
    const pictures = widths.map(make);
    await new Promise(requestAnimationFrame);
    for (const { turning } of pictures) turning.grab(3);
    const least = pictures.map(() => Infinity);
    let redrawn = Infinity;
    for (let batch = 0; batch < 20; batch += 1) {
        pictures.forEach(({ stage, turning }, index) => {
            const begin = performance.now();
            for (let frame = 0; frame < 50; frame += 1) {
                turning.move([0.001 * frame, 0.2]);
                stage.drawPoints();
            }
            least[index] = Math.min(least[index], (performance.now() - begin) / 50);
        });
        const begin = performance.now();
        for (let frame = 0; frame < 20; frame += 1) {
            pictures[0].stage.drawPoints();
            pictures[0].stage.drawLines();
        }
        redrawn = Math.min(redrawn, (performance.now() - begin) / 20);
    }
    return [...least, redrawn];
}"""


def projected_rows(page: Page) -> Array:
    """What the picture shows, as the page hands it out."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Projected rows (CSV)").click()
    with download.value.path().open() as file:
        return np.array([[float(row["z0"]), float(row["z1"])] for row in csv.DictReader(file)])


def drag(page: Page, name: str, right: int, down: int) -> None:
    """Take the tip of an arrow and move it."""
    handle = page.locator(".arrow", has_text=name).locator(".handle")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=5)
    expect(page.locator(".meter .value")).to_contain_text("about")  # it follows while the picture moves
    page.mouse.up()


def test_a_turned_picture_is_the_librarys(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    best = page.locator(".meter .value").inner_text()
    model_rows = projected_rows(page)
    with page.expect_request("**/separation") as asked:
        drag(page, "petal width", -60, 80)
    V = np.array(json.loads(asked.value.post_data or "")["V"])
    X, y = load_iris(return_X_y=True)
    shown = projected_rows(page)
    assert np.abs(shown - model_rows).max() > 0.1
    np.testing.assert_allclose(shown, (X - X.mean(axis=0)) @ V, atol=1e-6)
    expect(page.locator(".meter .hint")).to_contain_text("fitted:")
    assert float(page.locator(".meter .value").inner_text()) == pytest.approx(divergence(X, y, V), rel=5e-3)

    page.get_by_role("button", name="Back to the fit").click()
    expect(page.locator(".meter .hint")).to_contain_text("as fitted")
    assert page.locator(".meter .value").inner_text() == best
    np.testing.assert_allclose(projected_rows(page), model_rows, atol=1e-6)


def test_arrows_answer_to_the_keyboard(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    arrow = page.get_by_role("button", name="petal length (cm): one standard deviation leads")
    before = arrow.get_attribute("aria-label")
    with page.expect_request("**/separation"):
        arrow.press("ArrowDown")
    assert arrow.get_attribute("aria-label") != before
    page.get_by_role("button", name="Play from PCA").click()
    expect(page.locator(".meter .hint")).to_contain_text("as fitted")
    expect(page.get_by_role("button", name="Back to the fit")).to_be_disabled()


def test_a_frame_costs_the_same_for_any_number_of_columns(page: Page) -> None:
    few, many, redrawn = page.evaluate(FRAME_MILLISECONDS, [5, 100])
    assert many <= 1.2 * few
    assert few <= redrawn / 4
