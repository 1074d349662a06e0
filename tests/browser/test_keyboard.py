"""From a sample to the rows behind a picture, by keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import FIT_TIMEOUT, see_result
from tests.running_service import RunningService

MOST_STOPS = 80  # presses of the tab key until something is reached


def tab_to(page: Page, target: Locator) -> None:
    """Press the tab key until the target has the focus, which can be seen."""
    expect(target).to_be_visible()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if target.evaluate("node => node === document.activeElement"):
            return
    raise AssertionError(f"the tab key does not lead to {target}")


def test_from_a_sample_to_selected_rows(page: Page, service: RunningService) -> None:
    tab_to(page, page.get_by_role("link", name="Irises"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Fit", exact=True)).to_be_enabled()
    tab_to(page, page.get_by_role("button", name="Fit", exact=True))
    page.keyboard.press("Enter")
    see_result(page)
    expect(page.get_by_label("Select rows")).to_be_visible(timeout=FIT_TIMEOUT)

    tab_to(page, page.get_by_label("Select rows"))
    page.keyboard.type("Class virginica")
    page.keyboard.press("Enter")
    expect(page.locator("#selection-title")).to_have_text("50 selected rows · class virginica")

    tab_to(page, page.get_by_role("button", name="setosa", exact=True))
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="setosa", exact=True)).to_have_attribute("aria-pressed", "false")

    tab_to(
        page,
        page.get_by_role("button", name="petal width", exact=True).or_(page.locator(".sort", has_text="petal width")),
    )
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("petal width")

    page.locator("body").press("Home")
    page.locator(".brand").focus()
    arrow = page.locator(".arrow").first
    tab_to(page, arrow)
    page.keyboard.press("ArrowUp")
    expect(page.locator(".meter .hint")).to_contain_text("fitted:")
