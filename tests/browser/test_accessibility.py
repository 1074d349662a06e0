"""No view has a serious or critical violation by axe-core, light or dark; no view is wider than a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import FIT_TIMEOUT, fit_sample
from tests.running_service import RunningService

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("() => axe.run()")
    return [
        f"{each['id']}: {each['nodes'][0]['html']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.slow)])
def telephone(request: pytest.FixtureRequest, browser: Browser, service: RunningService) -> Iterator[Page]:
    scheme: Literal["light", "dark"] = request.param
    context = browser.new_context(viewport={"width": 375, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(service.url)
    yield page
    context.close()


def check(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_view(telephone: Page, service: RunningService) -> None:
    page = telephone
    expect(page.get_by_role("link", name="Wines")).to_be_visible()
    check(page)
    page.goto(f"{service.url}/#/samples/wine")
    expect(page.get_by_role("button", name="Fit", exact=True)).to_be_enabled()
    page.get_by_text("Advanced").click()
    check(page)
    fit_sample(page, service.url, "iris")
    page.get_by_label("Select rows").select_option("Class setosa")
    expect(page.locator(".rows tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Change and fit again").click()
    expect(page.get_by_role("region", name="Change and fit again")).to_be_visible()
    check(page)
    address = page.get_by_role("link", name="Compare methods").get_attribute("href")
    page.goto(f"{service.url}/{address}")
    expect(page.locator("canvas.thumbnail")).to_have_count(5, timeout=FIT_TIMEOUT)
    check(page)
    page.goto(f"{service.url}/#/fits")
    expect(page.locator(".fits")).to_be_visible()
    check(page)
    page.goto(f"{service.url}/#/nowhere")
    check(page)
