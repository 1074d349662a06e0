"""What a person does on the page, step by step."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

FIT_TIMEOUT = 300_000  # milliseconds, on a machine that has much else to do


def choose_file(page: Page, path: Path) -> None:
    """Choose a file on the first view."""
    page.get_by_label("Choose a file").set_input_files(path)


def choose_option(page: Page, label: str, value: str) -> None:
    """Fill in one of the advanced options."""
    field = page.get_by_label(label, exact=True)
    if not field.is_visible():
        page.get_by_text("Advanced").click()
    field.fill(value)


def fit_button(page: Page) -> Locator:
    """What begins a fit."""
    return page.get_by_role("button", name="Fit", exact=True)


def fit(page: Page, n_starts: int = 2, folds: int = 2) -> None:
    """A small fit of the table that is shown."""
    choose_option(page, "Regularization", "")  # the plain search takes the least time
    choose_option(page, "Number of starts", str(n_starts))
    choose_option(page, "Held-out folds", str(folds))
    fit_button(page).click()


def see_result(page: Page) -> None:
    """Wait for the held-out score, and for the picture with all its rows, which replaces the first one."""
    expect(page.get_by_role("heading", name="Rows it has not seen")).to_be_visible(timeout=FIT_TIMEOUT)
    expect(page.locator(".frame .stage")).to_be_visible()
    expect(page.locator(".picture[aria-busy]")).to_have_count(0)


def fit_sample(page: Page, url: str, name: str, *, dimensions: int = 2) -> None:
    """From a sample to its picture."""
    page.goto(f"{url}/#/samples/{name}")
    page.locator(f"label[for=dimensions-{dimensions}]").click()
    fit(page)
    see_result(page)
