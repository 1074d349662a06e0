"""What notebooks and consoles show of things on a service."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from melm.remote import Client, Dataset, Fit, Model
from melm.remote.connection import HttpConnection
from melm.remote.display import Summary
from melm.remote.records import FitRecord
from tests.melm.remote.scripted import fit_document
from tests.running_service import RunningService
from tests.service.api import free_port


@pytest.fixture
def judged(client: Client, dataset: Dataset) -> Model:
    """A model that was judged on held-out rows."""
    return client.fits.submit(dataset, method="lda", validation={"folds": 3}).wait()


def test_a_model_shows_verdict_picture_size_and_how_to_go_on(judged: Model, service: RunningService) -> None:
    verdict = judged.describe()["card"]["verdict"]["sentence"]
    shown = judged._repr_html_()
    for text in (verdict.partition(":")[0], "150 rows, 4 features", "setosa (50)", "model.predict(X)", judged.page):
        assert text in shown
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)
    assert ET.fromstring(base64.b64decode(picture)).tag.endswith("svg")  # noqa: S314 (our own drawing)
    said = str(judged)
    assert said.splitlines()[1] == verdict
    assert said.splitlines()[-1] == f"Page: {service.url}/#/models/{judged.id}"
    assert repr(judged) == f"<Model {judged.id}>"  # which asks nobody


def test_an_alias_shows_what_it_stands_for(judged: Model) -> None:
    assert f"Model of-display ({judged.id}) by lda" in str(judged.alias("of-display"))


def test_a_fit_shows_how_it_stands(client: Client, judged: Model) -> None:
    fit = client.fits.attach(judged.record.fit_id or "")
    assert "succeeded" in str(fit)
    assert "fit.model" in fit._repr_html_()
    assert "<img" in fit._repr_html_()
    document = fit_document() | {"validation": {"folds": 5, "repeats": 1}, "n_fits": 6}
    document["progress"] |= {"share_done": 0.7, "phase": "evidence"}
    running = Fit(HttpConnection("http://127.0.0.1:1"), FitRecord.of(document))
    assert "fold 4 of 5, best divergence 1.5, about 9 s left" in str(running)
    assert '<progress value="0.700" max="1">' in running._repr_html_()
    assert "fit.wait()" in str(running)


def test_a_dataset_shows_its_columns_with_reasons(client: Client) -> None:
    frame = pd.DataFrame({"color": ["red", "blue"] * 10, "size": [i % 7 + 0.5 for i in range(20)]})
    dataset = client.datasets.upload(frame, ["a", "b"] * 10)
    assert ["color", "categorical", "text", "with", "2", "values"] in [
        line.split() for line in str(dataset).splitlines()
    ]
    assert "<td>color</td><td>categorical</td>" in dataset._repr_html_()
    assert "a (10), b (10)" in dataset._repr_html_()


def test_a_client_shows_the_newest_fits_and_the_page(client: Client, judged: Model) -> None:
    assert judged.id in client._repr_html_()
    assert str(client).startswith(f"Service at {client.url}")
    assert repr(client) == f"<Client {client.url}>"


def test_where_the_service_is_away_it_is_said() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", patience_seconds=0) as client:
        for thing in (client, client.models["champion"]):
            assert "does not answer" in str(thing)
            assert "does not answer" in thing._repr_html_()


def test_names_of_others_are_text() -> None:
    summary = Summary("<script>", ["\x1b[2J"], strong="a & b", header=("<i>",), rows=[("\x07",)], calls=("f('<')",))
    shown = summary.as_html()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<i>" not in shown
    assert "\x1b" not in summary.as_text()
    assert "\\x1b[2J" in summary.as_text()


def test_ipython_shows_the_text_in_a_console(judged: Model) -> None:
    class Printer:
        said = ""

        def text(self, said: str) -> None:
            self.said += said

    printer = Printer()
    judged._repr_pretty_(printer, cycle=False)
    assert printer.said == str(judged)
