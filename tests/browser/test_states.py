"""What else happens: bad files, cancel, reload, an API that goes away, a key, an address that leads nowhere."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.outage import gate_before
from tests.browser.steps import FIT_TIMEOUT, choose_file, choose_option, fit_button, see_result
from tests.browser.watch import Watch
from tests.running_service import RunningService
from tests.service.api import api_process


def write_large_table(path: Path, seed: int) -> Path:
    """Rows on which many starts take many seconds; another seed is another dataset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2_000, 20))
    labels = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, "yes", "no")
    lines = [",".join([*(f"{value:.3f}" for value in row), label]) for row, label in zip(X, labels, strict=True)]
    path.write_text("\n".join([",".join([*(f"x{index}" for index in range(20)), "class"]), *lines]))
    return path


def begin_long_fit(page: Page, path: Path) -> None:
    choose_file(page, path)
    choose_option(page, "Regularization", "")  # with it there are few starts
    choose_option(page, "Number of starts", "500")
    fit_button(page).click()
    expect(page.get_by_text(re.compile(r"^[1-9]\d* of 500$"))).to_be_visible(timeout=FIT_TIMEOUT)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "the CSV is empty."),
        ("picture.csv", b"\x89PNG\x00\x01", "the CSV is not utf-8"),
        ("header.csv", b"a,b\n", "the CSV has a header and no rows."),
    ],
)
def test_bad_file_is_said_with_its_remedy(page: Page, files: Path, name: str, content: bytes, said: str) -> None:
    (files / name).write_bytes(content)
    choose_file(page, files / name)
    expect(page.get_by_role("alert")).to_contain_text(f"{name}: {said}")
    assert page.url.endswith("/")


def test_what_is_wrong_with_a_table_is_said_where_it_is(page: Page, files: Path) -> None:
    (files / "ragged.csv").write_text("a,b,class\n1,2,x\n1,2,3,y\n2,2,x\n3,2,y\n4,3,y\n")
    choose_file(page, files / "ragged.csv")
    expect(page.locator(".problems .blocks")).to_contain_text("line 3: there are 4 cells, the header has 3.")
    expect(fit_button(page)).to_be_disabled()


def test_one_class_only_cannot_be_fitted(page: Page, files: Path) -> None:
    (files / "one.csv").write_text("a,b,class\n" + "".join(f"{i},{i * i},x\n" for i in range(9)))
    choose_file(page, files / "one.csv")
    page.get_by_label("Use of class").select_option("target")
    expect(page.get_by_text("there is 1 class, not 2 or more.")).to_be_visible()
    expect(fit_button(page)).to_be_disabled()


def test_a_problem_is_settled_by_its_button(page: Page, files: Path) -> None:
    lines = [f"{'unknown' if i == 5 else i * 0.37:},{i * i},{'xy'[i % 2]}" for i in range(40)]
    (files / "odd.csv").write_text("\n".join(["a,b,class", *lines]))
    choose_file(page, files / "odd.csv")
    fix = page.locator(".problems .button", has_text="unknown")
    expect(page.get_by_text("Solve what is marked in red first.")).to_be_visible()
    fix.click()
    expect(fix).to_have_count(0)
    expect(fit_button(page)).to_be_enabled()
    expect(page.get_by_label("Use of a", exact=True)).to_have_value("numeric")


def test_the_guessed_target_can_be_another(page: Page, files: Path) -> None:
    lines = [f"{i * 0.37},{'pq'[i % 2]},{'xyz'[i % 3]}" for i in range(40)]
    (files / "two.csv").write_text("\n".join(["a,kind,class", *lines]))
    choose_file(page, files / "two.csv")
    expect(page.get_by_text("classes by class.")).to_be_visible()
    page.get_by_role("button", name="kind").click()
    expect(page.get_by_text("classes by kind.")).to_be_visible()
    expect(page.get_by_label("Use of class", exact=True)).to_have_value("categorical")
    page.reload()
    expect(page.get_by_text("classes by kind.")).to_be_visible()


def test_a_column_is_found_by_its_name(page: Page, files: Path) -> None:
    names = [f"gene {index}" for index in range(30)]
    lines = [
        ",".join([*(f"{(row + 1) * (index + 2) % 101 / 7:.3f}" for index in range(30)), "xy"[row % 2]])
        for row in range(40)
    ]
    (files / "genes.csv").write_text("\n".join([",".join([*names, "class"]), *lines]))
    choose_file(page, files / "genes.csv")
    page.get_by_label("Find a column").fill("gene 17")
    expect(page.get_by_label("Use of gene 3", exact=True)).to_be_hidden()
    page.get_by_label("Use of gene 17", exact=True).select_option("ignore")
    expect(page.locator("[data-role=ignore] .why")).to_have_text(["Chosen"])
    expect(page.get_by_label("Use of gene 3", exact=True)).to_be_hidden()  # still


def test_cancel(page: Page, files: Path) -> None:
    begin_long_fit(page, write_large_table(files / "cancel.csv", seed=1))
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="cancel was canceled")).to_be_visible()
    expect(page.get_by_text("starts were done; trying again continues from there.")).to_be_visible()


def test_reload_in_the_middle_then_stop_with_the_best(page: Page, files: Path) -> None:
    begin_long_fit(page, write_large_table(files / "reload.csv", seed=2))
    page.reload()
    expect(page.get_by_text(re.compile(r"^[1-9]\d* of 500$"))).to_be_visible()
    page.get_by_role("button", name="Stop now, keep the best").click()
    see_result(page)


def test_chosen_file_survives_a_reload(page: Page, files: Path) -> None:
    choose_file(page, write_large_table(files / "kept.csv", seed=3))
    expect(fit_button(page)).to_be_enabled()
    page.reload()
    expect(page.get_by_role("heading", name="kept")).to_be_visible()


def test_api_that_goes_away_and_comes_back(
    browser: Browser, service: RunningService, watch: Watch, files: Path
) -> None:
    with gate_before(service.url) as gate:
        page = browser.new_page()
        watch.follow(page, gate.url)
        page.goto(gate.url)
        begin_long_fit(page, write_large_table(files / "outage.csv", seed=4))
        gate.close()
        expect(page.get_by_text("The service does not answer. Trying again; nothing is lost.")).to_be_visible()
        gate.open()
        expect(page.locator("#notice")).to_be_empty()
        page.get_by_role("button", name="Stop now, keep the best").click()
        see_result(page)
        page.close()
    assert all("ERR_" in error for error in watch.errors)  # the browser itself reports broken and refused connections


def test_key_is_asked_for_where_one_is_needed(
    browser: Browser, service: RunningService, watch: Watch, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"open sesame").hexdigest()
    with api_process(service.redis_url, tmp_path / "api.log", keys=f"acme fit {digest}") as api:
        page = browser.new_page()
        watch.follow(page, api.url)
        page.goto(api.url)
        page.get_by_label("Key", exact=True).last.fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("That key is not known here.")).to_be_visible()
        page.get_by_label("Key", exact=True).last.fill("open sesame")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("link", name="Wines")).to_be_visible()
        page.close()
    watch.forgive("401")
    assert watch.errors == []


def test_addresses_that_lead_nowhere(page: Page, service: RunningService, watch: Watch) -> None:
    page.goto(f"{service.url}/#/nowhere")
    expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    page.goto(f"{service.url}/#/fits/fit_01JCZ9V7M3K4N5P6Q7R8S9T0AB")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    watch.forgive("404")
