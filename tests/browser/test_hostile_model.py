"""A model of somebody else whose card is full of markup: no script of it runs where it is shown."""

from __future__ import annotations

import io
import json

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.running_service import RunningService
from tests.service import samples

RUN = "document.title='it ran'"
SCRIPT = f'<img src=x onerror="{RUN}"><script>{RUN}</script><svg onload="{RUN}">'
NPZ = {"Content-Type": "application/x-npz"}


@pytest.fixture(scope="module")
def model_id(service: RunningService) -> str:
    """An imported model with markup wherever a card has text."""
    with httpx2.Client(base_url=service.url, timeout=70) as client:
        data = samples.irises()
        data["y"] = [f"{SCRIPT}{label}" for label in data["y"]]
        ask = {"data": data, "method": "pca", "params": {"n_components": 2}, "validation": {"folds": 2}}
        file = client.get(f"/v1/models/{samples.fit(client, ask)['model_id']}/file").content
        arrays = dict(np.load(io.BytesIO(file), allow_pickle=False))
        header = json.loads(arrays["header"].tobytes())
        header["feature_names"] = [f"{SCRIPT}{name}" for name in header["feature_names"]]
        header["method"] = SCRIPT
        header["card"] = with_markup(header["card"])
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        made = client.post("/v1/models", content=samples.npz(**arrays), headers=NPZ, params={"name": SCRIPT})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])


def with_markup(value: object, key: str = "") -> object:
    """Markup in all text of a card, but in that which has a fixed set of values."""
    if isinstance(value, dict):
        return {name: with_markup(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [with_markup(each, key) for each in value]
    is_free = isinstance(value, str) and key not in ("level", "kind", "stopping_reason")
    return f"{SCRIPT}{value}" if is_free else value


@pytest.mark.parametrize("path", ["report", "plot.svg", "plot", "schema", ""])
def test_no_script_runs_in_a_generated_document(page: Page, service: RunningService, model_id: str, path: str) -> None:
    answered = page.goto(f"{service.url}/v1/models/{model_id}/{path}".rstrip("/"))
    assert answered is not None
    assert answered.ok
    page.wait_for_load_state("networkidle")
    assert page.title() != "it ran"
    assert page.locator("img, script").count() == 0
    assert page.evaluate("self.origin") == "null"  # what it might run, it would run as nobody


def test_no_script_runs_on_the_page(page: Page, service: RunningService, model_id: str) -> None:
    page.goto(f"{service.url}/#/models/{model_id}")
    expect(page.get_by_role("heading", name="Rows it has not seen")).to_be_visible()
    assert page.title() != "it ran"
    assert page.locator("main img, main script").count() == 0


def test_a_report_that_was_saved_runs_nothing(page: Page, service: RunningService, model_id: str) -> None:
    report = httpx2.get(f"{service.url}/v1/models/{model_id}/report").text
    saved = page.context.new_page()
    saved.set_content(report.replace("</body>", f"<script>{RUN}</script></body>"))
    assert saved.title() != "it ran"
