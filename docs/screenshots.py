"""Takes the pictures of README and docs from a running page: `python docs/screenshots.py http://127.0.0.1:8000`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
FIT_TIMEOUT = 300_000  # milliseconds
ARGUMENTS = ["--no-sandbox", "--enable-unsafe-swiftshader"]  # WebGL without a graphics card


def main(url: str) -> None:
    """All pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = open_page(browser)
        show_sample(page, url, "wine")
        save(page, "explorer")
        page.get_by_label("Select rows").select_option("Class class_1")
        page.locator("#selection-title").evaluate("node => node.scrollIntoView()")
        save(page, "explorer-selection", height=640)
        page.get_by_role("link", name="Compare methods").click()
        page.locator("canvas.thumbnail").nth(4).wait_for(timeout=FIT_TIMEOUT)
        save(page, "explorer-compare", height=640)
        show_noise(page, url)
        save(page, "explorer-noise")
        page = open_page(browser, dark=True)
        show_sample(page, url, "digits", method="lda")
        save(page, "explorer-dark")
        browser.close()


def open_page(browser: Browser, *, dark: bool = False) -> Page:
    """A page of its own."""
    size = {"width": 1280, "height": 1010}
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light")  # type: ignore[arg-type]
    return context.new_page()


def show_sample(page: Page, url: str, name: str, method: str = "melm") -> None:
    """The result of a fit to a sample."""
    page.goto(f"{url}/#/samples/{name}")
    page.get_by_text("Advanced").click()
    page.get_by_label("Method").select_option(method)
    fit(page)


def show_noise(page: Page, url: str) -> None:
    """The result of a fit to columns that know nothing of the classes."""
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"{value:.4f}" for value in rng.normal(size=100)), "ab"[row % 2]]) for row in range(300)]
    header = ",".join([*(f"x{index}" for index in range(100)), "class"])
    page.goto(url)
    content = "\n".join([header, *lines]).encode()
    page.locator("#file").set_input_files({"name": "pure noise.csv", "mimeType": "text/csv", "buffer": content})
    fit(page)


def fit(page: Page) -> None:
    """Begin, and wait for the picture."""
    page.get_by_role("button", name="Fit", exact=True).click()
    page.get_by_role("heading", name="Rows it has not seen").wait_for(timeout=FIT_TIMEOUT)
    page.get_by_label("Select rows").wait_for(timeout=FIT_TIMEOUT)  # the rows are there


def save(page: Page, name: str, height: int = 1010) -> None:
    """What is shown now, once it has been drawn."""
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"{name}.png", clip={"x": 0, "y": 0, "width": 1280, "height": height})


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
