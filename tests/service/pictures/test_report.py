"""The card as a document: complete, self-contained, and honest about noise."""

from __future__ import annotations

from html.parser import HTMLParser

import httpx2
import numpy as np
import pytest

from tests.service.api import Api


class References(HTMLParser):
    """Collects whatever a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.found += [value or "" for name, value in attributes if name in ("src", "href", "data", "action")]


@pytest.fixture(scope="module")
def noise_model(api: Api) -> str:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((60, 30)), ["<b>yes</b>", "no"] * 30
    body = {
        "data": {"X": X.tolist(), "y": y},
        "params": {"regularization": None, "n_starts": 2},
        "validation": {"folds": 3},
        "name": "A & B",
    }
    fit = httpx2.post(f"{api.url}/v1/fits", json=body, headers={"Prefer": "wait=60"}, timeout=70).json()
    assert fit["status"] == "succeeded", fit
    return f"{api.url}/v1/models/{fit['model_id']}"


def test_the_report_is_one_file_without_scripts_or_references(noise_model: str) -> None:
    answer = httpx2.get(f"{noise_model}/report", headers={"Accept": "text/html"})
    assert answer.headers["content-type"].startswith("text/html")
    page = References()
    page.feed(answer.text)
    assert (page.found, page.scripts) == ([], 0)
    assert "http://www.w3.org/2000/svg" in answer.text


def test_the_report_says_that_noise_is_noise(noise_model: str) -> None:
    text = httpx2.get(f"{noise_model}/report").text
    assert "Noise: on new rows this view does no better than guessing." in text
    assert "30 dimensions for 60 rows" in text
    for part in (
        "What makes up the picture",
        "The data",
        "How it was fitted",
        "Intended use and limits",
        "ECML PKDD 2015",
    ):
        assert part in text


def test_what_the_user_wrote_is_escaped(noise_model: str) -> None:
    text = httpx2.get(f"{noise_model}/report").text
    assert "A &amp; B" in text
    assert "<b>yes</b>" not in text


def test_the_same_as_json(noise_model: str) -> None:
    report = httpx2.get(f"{noise_model}/report", headers={"Accept": "application/json"}).json()
    assert report == httpx2.get(noise_model).json()
    assert report["card"]["verdict"]["level"] == "noise"


def test_other_types_are_refused(noise_model: str) -> None:
    answer = httpx2.get(f"{noise_model}/report", headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert "text/html" in answer.text
