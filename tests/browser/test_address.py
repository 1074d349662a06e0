"""What a picture shows stands in its address: a link shows the same to somebody else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.steps import FIT_TIMEOUT, choose_file, fit, fit_sample, see_result
from tests.running_service import RunningService


def test_a_link_shows_what_i_see(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.get_by_label("Color by").select_option("Color by petal width (cm)")
    page.get_by_label("Select rows").select_option("Class virginica")
    page.get_by_role("button", name="setosa", exact=True).click()
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile(r"color=.*hide=0.*select=class%3A2.*zoom="))
    ticks = page.locator(".stage .tick").all_text_contents()

    browser = page.context.browser
    assert browser is not None
    other = browser.new_page()
    other.goto(page.url)
    see_result(other)
    expect(other.locator("#selection-title")).to_have_text("50 selected rows · class virginica")
    expect(other.get_by_label("Color by")).to_have_value("petal width (cm)")
    expect(other.get_by_role("button", name="setosa", exact=True)).to_have_attribute("aria-pressed", "false")
    assert other.locator(".stage .tick").all_text_contents() == ticks
    other.close()


def write_many_rows(path: Path) -> Path:
    """More rows than an address can name one by one."""
    rng = np.random.default_rng(0)
    lines = [
        ",".join([*(f"{value:.3f}" for value in rng.normal(size=4) + 2 * (row % 2)), "ab"[row % 2]])
        for row in range(800)
    ]
    path.write_text("\n".join(["one,two,three,four,class", *lines]))
    return path


def test_a_link_shows_a_turned_picture_and_its_lasso(page: Page, files: Path) -> None:
    choose_file(page, write_many_rows(files / "many.csv"))
    fit(page)
    see_result(page)
    page.locator("label[for=tool-lasso]").click()
    page.locator(".arrow").first.press("ArrowDown")
    expect(page.locator(".meter .hint")).to_contain_text("fitted:")
    canvas = page.locator(".stage canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    left, top = box["x"] + 60, box["y"] + 30
    page.mouse.move(left, top)
    page.mouse.down()
    for right, down in ((250, 0), (200, 300), (0, 300)):
        page.mouse.move(left + right, top + down, steps=40)
    page.mouse.up()
    chosen = page.locator("#selection-title").inner_text().split()[0]
    for _ in range(4):
        page.locator(".arrow").last.press("ArrowLeft")  # the lasso belongs to the picture before
    expect(page).to_have_url(re.compile(r"turn=[^&]+%3B.*select=area"))
    expect(page.locator(".meter .hint")).to_contain_text("fitted:")
    seen = [page.locator(".meter").inner_text(), *page.locator(".stage .tick").all_text_contents()]

    browser = page.context.browser
    assert browser is not None
    other = browser.new_page(viewport=page.viewport_size)
    other.goto(page.url)
    see_result(other)
    expect(other.locator("#selection-title")).to_have_text(f"{chosen} selected rows · rows in an area")
    expect(other.locator(".meter .hint")).to_contain_text("fitted:")
    assert [other.locator(".meter").inner_text(), *other.locator(".stage .tick").all_text_contents()] == seen
    other.close()


def test_the_picture_appears_while_it_is_searched_for(page: Page, service: RunningService) -> None:
    page.goto(f"{service.url}/#/samples/digits")
    page.get_by_text("Advanced").click()
    page.get_by_label("Number of starts", exact=True).fill("24")
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.locator("canvas.preview")).to_be_visible(timeout=FIT_TIMEOUT)
    expect(page.get_by_text("Stopping now keeps")).to_be_visible()
    page.get_by_role("button", name="Stop now, keep the best").click()
    see_result(page)
