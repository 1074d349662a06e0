"""What a picture shows stands in its address: a link shows the same to somebody else."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import fit_sample, see_result
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


def test_the_picture_appears_while_it_is_searched_for(page: Page, service: RunningService) -> None:
    page.goto(f"{service.url}/#/samples/digits")
    page.get_by_text("Advanced").click()
    page.get_by_label("Number of starts", exact=True).fill("24")
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.locator("canvas.preview")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Stopping now keeps")).to_be_visible()
    page.get_by_role("button", name="Stop now, keep the best").click()
    see_result(page)
