"""Fits of one dataset stand together, can be searched and deleted; a fit is made again with other classes."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import FIT_TIMEOUT, fit, fit_sample, see_result
from tests.running_service import RunningService


def test_fits_of_a_dataset_stand_together(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.goto(f"{service.url}/#/samples/iris")
    page.get_by_text("Advanced").click()
    page.get_by_label("Method").select_option("pca")
    page.get_by_label("Held-out folds", exact=True).fill("2")
    page.get_by_role("button", name="Fit", exact=True).click()
    see_result(page)

    page.get_by_role("link", name="Fits and models").click()
    irises = page.locator(".dataset", has=page.get_by_role("heading", name="iris", exact=True)).first
    expect(irises.get_by_role("heading")).to_be_visible()
    pca = irises.locator("li", has_text="Principal component analysis").first
    expect(pca.locator(".score")).to_have_text(re.compile(r"^\.\d{3}$|^1\.00$"))
    expect(pca).to_contain_text(" KB")
    expect(irises.locator("li", has_text="Maximum Entropy").first).to_be_visible()

    page.get_by_label("Search fits").fill("principal")
    expect(irises.locator("li", has_text="Maximum Entropy").first).to_be_hidden()
    expect(pca).to_be_visible()
    n_before = irises.locator("li").count()
    pca.get_by_role("button", name="Delete").click()
    pca.get_by_role("button", name="for good").click()
    expect(irises.locator("li")).to_have_count(n_before - 1)
    page.reload()
    expect(irises.locator("li")).to_have_count(n_before - 1)


def test_classes_are_merged_and_left_out(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "wine")
    result = page.url
    page.get_by_role("button", name="Change and fit again").click()
    change = page.get_by_role("region", name="Change and fit again")
    names = change.locator("label").all_inner_texts()
    assert len(names) == 3
    change.get_by_label(names[1], exact=True).select_option("leave out")
    expect(change.get_by_role("status")).to_contain_text("2 classes")
    change.get_by_label(names[2], exact=True).select_option(f"Merge with {names[0]}")
    expect(change.get_by_role("button", name="Continue")).to_be_disabled()
    change.get_by_label(names[1], exact=True).select_option("keep")
    change.get_by_role("button", name="Continue").click()
    expect(page.locator(".classes .label")).to_have_text([f"{names[0]} or {names[2]}", names[1]])
    page.get_by_label("Use of malic_acid", exact=True).select_option("ignore")
    fit(page)
    see_result(page)
    expect(page.locator(".heading > .lead")).to_contain_text("12 columns · 2 classes")
    page.go_back()
    page.go_back()
    see_result(page)
    assert page.url.split("?")[0] == result.split("?")[0]


def test_selected_rows_stay_marked_beside_other_methods(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.get_by_label("Select rows").select_option("Class setosa")
    page.get_by_role("link", name="Compare methods").click()
    expect(page.get_by_text("The 50 selected rows stand out")).to_be_visible()
    expect(page.locator("canvas.thumbnail")).to_have_count(5, timeout=FIT_TIMEOUT)
    strong = """canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const found = { blue: 0, orange: 0 };
        for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] < 200) continue;
            if (data[at + 2] > 150 && data[at] < 60) found.blue += 1;
            if (data[at] > 180 && data[at + 2] < 60) found.orange += 1;
        }
        return found;
    }"""
    for canvas in page.locator("canvas.thumbnail").all():
        found = canvas.evaluate(strong)
        assert found["blue"] > 20 * (found["orange"] + 1)  # setosa stands out, versicolor is faint
