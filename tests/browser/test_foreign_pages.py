"""Pages of others, in a real browser that reaches the service: none of them changes or reads anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Response, sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.browser.steps import fit, see_result
from tests.running_service import RunningService
from tests.service import samples
from tests.service.api import api_process
from tests.service.test_security import line

NAMES = "MAP *.example 127.0.0.1"  # what a rebound name is to the browser


class Blank(BaseHTTPRequestHandler):
    """Serves an empty page under every name and path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title>")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serving_blank_pages() -> Iterator[int]:
    """A port at which somebody else serves pages on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def foreign_port() -> Iterator[int]:
    """One that stays."""
    with serving_blank_pages() as port:
        yield port


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser to which all names of example lead to this machine."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("needs chromium on the path")
    with sync_playwright() as playwright:
        arguments = [*ARGUMENTS, f"--host-resolver-rules={NAMES}"]
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(params=["foreign.example", "127.0.0.1"])
def foreign_page(browser: Browser, foreign_port: int, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of another site, and one of another port of the same machine."""
    page = browser.new_page()
    page.goto(f"http://{request.param}:{foreign_port}/")
    yield page
    page.close()


@contextmanager
def nothing_changes(service: RunningService) -> Iterator[None]:
    """Whatever happens inside, the service holds the same datasets, fits and models afterward."""

    def held() -> list[object]:
        kinds = ("datasets", "fits", "models", "aliases")
        return [httpx2.get(f"{service.url}/v1/{kind}").json()["data"] for kind in kinds]

    before = held()
    yield
    assert held() == before


def answer_to(page: Page, url: str, script: str, *arguments: object) -> Response:
    """Run a script of the page, and wait for what the service answers to it."""
    with page.expect_response(lambda response: response.url.startswith(url)) as answered:
        page.evaluate(script, list(arguments))
    return answered.value


SEND = """async ([url, method, type]) => {
  const body = '{"X": [[1], [2], [3], [4]], "y": ["a", "a", "b", "b"], "name": "planted"}';
  const content = new Blob([body], type ? {type} : {});  // without a type no Content-Type is sent, and no preflight
  try { await fetch(url, {method, body: content, mode: "no-cors"}); } catch { /* not to be read */ }
}"""
SUBMIT = """([url, enctype]) => {
  const form = document.createElement("form");
  Object.assign(form, {method: "post", action: url, enctype});
  const field = document.createElement("input");
  Object.assign(field, {name: '{"X": [[1], [2], [3], [4]], "y": ["a", "a", "b", "b"], "name": "', value: 'planted"}'});
  form.append(field);
  document.body.append(form);
  form.submit();
}"""


@pytest.mark.parametrize("media_type", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_foreign_page_by_fetch(foreign_page: Page, service: RunningService, media_type: str) -> None:
    with nothing_changes(service):
        answered = answer_to(foreign_page, service.url, SEND, f"{service.url}/v1/datasets", "POST", media_type)
        assert answered.status == 403


def test_foreign_page_has_no_preflight_answered(foreign_page: Page, service: RunningService) -> None:
    script = """async ([url]) => {
      try { return (await fetch(url, {method: "DELETE"})).status; } catch (error) { return error.name; }
    }"""
    with nothing_changes(service):
        assert foreign_page.evaluate(script, [f"{service.url}/v1/datasets/ds_1"]) == "TypeError"


@pytest.mark.parametrize("encoding", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])
@pytest.mark.parametrize("path", ["/v1/datasets", "/v1/fits/fit_1/cancel"])
def test_foreign_page_by_form(foreign_page: Page, service: RunningService, encoding: str, path: str) -> None:
    with nothing_changes(service):
        answered = answer_to(foreign_page, service.url, SUBMIT, service.url + path, encoding)
        assert answered.status == 403


@pytest.mark.parametrize("script", [SEND, SUBMIT], ids=["fetch", "form"])
@pytest.mark.parametrize("parent", ["foreign", "service"])
def test_sandboxed_frame(
    browser: Browser, foreign_port: int, service: RunningService, script: str, parent: str
) -> None:
    """A frame without an origin is foreign even inside a document of the service itself.

    The policy of the service's documents would keep such a frame from asking at all, so the browser ignores it here.
    """
    page = browser.new_page(bypass_csp=True)
    page.goto(f"{service.url}/healthz" if parent == "service" else f"http://foreign.example:{foreign_port}/")
    page.evaluate("""() => {
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts allow-forms";
      frame.srcdoc = "<!doctype html><body>";
      document.body.append(frame);
    }""")
    frame = page.frames[1]
    frame.wait_for_load_state()
    address = f"{service.url}/v1/fits/fit_1/cancel"
    arguments = [address, "POST", ""] if script == SEND else [address, "text/plain"]
    with nothing_changes(service), page.expect_response(lambda response: response.url == address) as answered:
        frame.evaluate(script, arguments)
    assert answered.value.status == 403
    page.close()


def test_rebound_name(browser: Browser, service: RunningService, tmp_path: Path) -> None:
    """To the browser it is one origin, at first the attacker's and then the service: only the name is not ours."""
    dataset = httpx2.post(f"{service.url}/v1/datasets", json=samples.irises()).json()["id"]
    page = browser.new_page()
    with serving_blank_pages() as port:
        page.goto(f"http://rebound.example:{port}/")
    ask = "async ([method, url, body]) => (await fetch(url, {method, body})).status"
    with api_process(service.redis_url, tmp_path / "api.log", port=port), nothing_changes(service):
        for method, path, body in (
            ("GET", "/v1/datasets", None),
            ("POST", "/v1/datasets", "a,class\n1,x\n2,x\n3,y\n4,y\n"),
            ("DELETE", f"/v1/datasets/{dataset}", None),
            ("GET", "/", None),
        ):
            assert page.evaluate(ask, [method, path, body]) == 421
    page.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_explorer_works(browser: Browser, service: RunningService, name: str) -> None:
    page = browser.new_page()
    page.goto(f"http://{name}:{urlsplit(service.url).port}/#/samples/iris")
    fit(page)
    see_result(page)
    page.close()


def test_explorer_works_under_an_allowed_name(browser: Browser, service: RunningService, tmp_path: Path) -> None:
    """Here the browser does not say Sec-Fetch-Site, so that Origin decides."""
    with api_process(service.redis_url, tmp_path / "api.log", allowed_hosts="melm.example") as api:
        page = browser.new_page()
        page.goto(f"http://melm.example:{urlsplit(api.url).port}/#/samples/iris")
        fit(page)
        see_result(page)
        page.close()


def test_explorer_with_keys_works_under_any_name(browser: Browser, service: RunningService, tmp_path: Path) -> None:
    with api_process(service.redis_url, tmp_path / "api.log", keys=line("open sesame")) as api:
        page = browser.new_page()
        page.goto(f"http://any.example:{urlsplit(api.url).port}/#/samples/iris")
        page.get_by_label("Key", exact=True).last.fill("open sesame")
        page.get_by_role("button", name="Continue").click()
        fit(page)
        see_result(page)
        page.close()
