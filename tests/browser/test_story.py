"""From a CSV file to a prediction, as a person goes; and back to it by its address."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from melm.model import file as model_file
from service.samples import as_csv
from tests.browser.steps import FIT_TIMEOUT, choose_file, fit, fit_sample, see_result
from tests.running_service import RunningService


def messy_irises() -> str:
    """Irises as a German spreadsheet writes them: BOM, semicolons, decimal commas, a name and a gap."""
    header, *rows = csv.reader(io.StringIO(as_csv("iris")))
    cells = [[f"plant {index}", *(cell.replace(".", ",") for cell in row)] for index, row in enumerate(rows)]
    cells[7][2] = "NA"
    return "\ufeff" + "\n".join(";".join(row) for row in [["plant", *header], *cells])


def test_from_csv_to_prediction(page: Page, service: RunningService, files: Path) -> None:
    table = files / "garden.csv"
    table.write_text(messy_irises(), encoding="utf-8")
    choose_file(page, table)

    expect(page.get_by_role("heading", name="garden")).to_be_visible()
    expect(page.get_by_text("Numbers have decimal commas.")).to_be_visible()
    expect(page.get_by_label("Use of plant")).to_have_value("id")
    expect(page.get_by_label("Use of species")).to_have_value("target")
    fit(page, n_starts=3)

    see_result(page)
    expect(page.get_by_text("it recognizes 100 of 'setosa'")).to_be_visible()
    expect(page.locator(".legend button")).to_have_text(["setosa", "versicolor", "virginica"])
    page.get_by_role("button", name="setosa", exact=True).click()
    expect(page.get_by_role("button", name="setosa", exact=True)).to_have_attribute("aria-pressed", "false")

    page.get_by_label(re.compile("Paste rows")).fill("5.1,3.5,1.4,0.2\n6.5,3.0,5.8,2.2")
    page.get_by_role("button", name="Place them").click()
    results = page.get_by_role("region", name="Classes of the new rows").locator("tbody tr")
    expect(results).to_have_count(2)
    expect(results.nth(0)).to_contain_text("setosa")
    expect(results.nth(1)).to_contain_text("virginica")

    with page.expect_download() as download:
        page.get_by_role("button", name="Model (.npz)").click()
    model = model_file.load(download.value.path().read_bytes())
    assert model.classes.tolist() == ["setosa", "versicolor", "virginica"]


def clinic() -> str:
    """Patients who came several times: an id, a group, numbers with gaps, categories."""
    rng = np.random.default_rng(0)
    lines = ["visit_id,patient_id,age,pressure,color,outcome"]
    for visit in range(180):
        outcome = visit % 2
        pressure = "" if visit % 20 == 0 else f"{rng.normal() + 3 * outcome:.2f}"
        color = ("red", "green", "blue")[rng.integers(3)]
        lines.append(f"v{visit},{visit // 6},{rng.normal(50, 9):.1f},{pressure},{color},{('well', 'ill')[outcome]}")
    return "\n".join(lines)


def test_groups_gaps_and_categories(page: Page, files: Path) -> None:
    (files / "clinic.csv").write_text(clinic())
    choose_file(page, files / "clinic.csv")
    roles = {"visit_id": "id", "patient_id": "group", "age": "numeric", "color": "categorical", "outcome": "target"}
    for name, role in roles.items():
        expect(page.get_by_label(f"Use of {name}")).to_have_value(role)
    fit(page)
    see_result(page)
    axes = page.locator(".axes")
    expect(axes.get_by_role("rowheader", name="color", exact=True)).to_have_count(2)  # by column, not by category
    expect(axes.get_by_role("row", name=re.compile("^color")).first.locator(".number")).to_have_attribute(
        "title", re.compile(r"color=red: −?\d\.\d\d")
    )
    page.get_by_label(re.compile("Paste rows")).fill("age,pressure,color\n50,3.1,red\n50,,purple")
    page.get_by_role("button", name="Place them").click()
    results = page.get_by_role("region", name="Classes of the new rows").locator("tbody tr")
    expect(results.nth(0)).to_contain_text("ill")
    expect(results).to_have_count(2)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("Picture (PNG)", b"\x89PNG"), ("Picture (SVG)", b"<svg"), ("Projected rows (CSV)", b"row,")],
)
def test_downloads(page: Page, service: RunningService, name: str, beginning: bytes) -> None:
    fit_sample(page, service.url, "iris")
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    assert download.value.path().read_bytes().startswith(beginning)


def test_snippets_run_as_they_stand(page: Page, files: Path, tmp_path: Path) -> None:
    (files / "clinic.csv").write_text(clinic())
    choose_file(page, files / "clinic.csv")
    fit(page)
    see_result(page)
    expect(page.get_by_label("Python snippet")).to_contain_text('"color": "')  # once the rows are there
    for name, command in (("Python", sys.executable), ("curl", "bash")):
        snippet = tmp_path / f"snippet of {name}"
        snippet.write_text(page.get_by_label(f"{name} snippet").inner_text())
        run = subprocess.run([command, snippet], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert re.search("well|ill", run.stdout), run.stdout


def test_a_model_says_how_to_cite_it(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    expect(page.get_by_label("Citation snippet")).to_contain_text("ECML PKDD 2015")


def test_hover_names_the_row_and_its_values(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    canvas = page.locator(".stage canvas")
    box = canvas.bounding_box()
    assert box is not None
    tooltip = page.locator(".tooltip")
    for share in np.linspace(0.1, 0.9, 60):  # along the middle there is a plant somewhere
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        if tooltip.is_visible():
            break
    expect(tooltip).to_contain_text(re.compile("(setosa|versicolor|virginica)"))


@pytest.mark.parametrize("dimensions", [1, 3])
def test_line_and_space(page: Page, service: RunningService, dimensions: int) -> None:
    fit_sample(page, service.url, "iris", dimensions=dimensions)
    expect(page.locator(".stage canvas")).to_have_count(1 if dimensions == 3 else 0)
    expect(page.locator(".bars")).to_have_count(dimensions)


def test_every_view_has_an_address(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    score = page.locator(".held-out .big").inner_text()
    model_address = page.get_by_role("link", name=re.compile("Compare methods")).get_attribute("href")
    assert model_address is not None
    elsewhere = page.context.browser.new_context() if page.context.browser else pytest.fail("no browser")
    for address in (page.url, service.url + "/" + model_address.removesuffix("/compare")):
        other = elsewhere.new_page()
        other.goto(address)
        see_result(other)
        assert other.locator(".held-out .big").inner_text() == score
    elsewhere.close()

    page.get_by_role("link", name="Fits and models").click()
    page.get_by_role("link", name="iris").first.click()
    see_result(page)


def test_methods_side_by_side(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.get_by_role("link", name=re.compile("Compare methods")).click()
    tiles = page.locator(".tile")
    expect(tiles).to_have_count(5)
    expect(page.locator("canvas.thumbnail")).to_have_count(5, timeout=FIT_TIMEOUT)
    expect(tiles.filter(has_text="Principal component analysis")).to_contain_text(re.compile(r"held out\s*\.\d{3}"))


def test_lineup_counts_rounds_before_it_judges(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    before = json.loads(page.request.get(f"{service.url}/v1/fits?limit=1").text())["data"]
    page.get_by_role("link", name=re.compile("Lineup")).click()
    for played in ("1 round", "2 rounds"):
        expect(page.get_by_text("Choose the one that you think is real.")).to_be_visible(timeout=FIT_TIMEOUT)
        expect(page.locator("canvas.thumbnail")).to_have_count(9)
        page.get_by_role("button", name="Picture 1").click()
        expect(page.locator(".real")).to_have_count(1)
        expect(page.get_by_role("status").last).to_contain_text(f"of {played} right")
        page.get_by_role("button", name="Another round").click()
    with page.expect_request(lambda request: request.url.endswith("/cancel")):  # nobody waits for these any more
        page.get_by_role("link", name="Back to the model").click()
    assert (
        json.loads(page.request.get(f"{service.url}/v1/fits?limit=1").text())["data"] == before
    )  # decoys are not listed


def test_change_and_fit_again_keeps_what_was_said(page: Page, files: Path) -> None:
    (files / "clinic.csv").write_text(clinic())
    choose_file(page, files / "clinic.csv")
    page.get_by_label("Use of color", exact=True).select_option("ignore")
    fit(page, n_starts=3)
    see_result(page)
    page.get_by_label("Select rows").select_option("Class ill")
    selected = int(page.locator("#selection-title").inner_text().split()[0])
    page.get_by_label("Find rows").fill("v0")
    page.get_by_label("Find rows").press("Enter")
    page.get_by_role("button", name="Leave out and fit again").click()
    expect(page.get_by_text(f"{2 * selected - 1} rows, 5 columns.")).to_be_visible()
    expect(page.get_by_label("Use of patient_id", exact=True)).to_have_value("group")
    expect(page.get_by_label("Number of starts", exact=True)).to_have_value("3")
    page.go_back()
    see_result(page)
