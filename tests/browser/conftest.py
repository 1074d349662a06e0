"""A real browser for the page: Debian's chromium, driven by Playwright, with nothing of its own downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.watch import Watch
from tests.running_service import RunningService

ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
]

PATIENCE_MILLISECONDS = 60_000  # on a machine that has much else to do
expect.set_options(timeout=PATIENCE_MILLISECONDS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed after each module: while Playwright is open its event loop runs, and other tests want to run their own."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("needs chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    yield context
    context.close()


@pytest.fixture
def watch() -> Watch:
    """What the page did that nobody saw; a test that expects some of it takes it out."""
    return Watch()


@pytest.fixture
def page(context: BrowserContext, service: RunningService, watch: Watch) -> Iterator[Page]:
    """The page at its beginning; whatever a test does, no error may stand in the console and no other host be asked."""
    page = context.new_page()
    watch.follow(page, service.url)
    page.goto(service.url)
    yield page
    assert watch.errors == []
    assert watch.foreign_requests == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Where a test puts the files that a person would choose."""
    return tmp_path
