"""The bar: seen in terminals and notebooks, silent elsewhere."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from melm.remote.progress import is_watched, progress_bar
from melm.remote.records import FitRecord
from tests.melm.remote.scripted import fit_document


def test_shows_starts_best_divergence_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    record = FitRecord.of(fit_document())
    with progress_bar(record, visible=True) as show:
        show(record)
    line = capsys.readouterr().err.split("\r")[-1]
    assert "running" in line
    assert "25%, 1 of 4 starts, best divergence 1.5, about 9 s left" in line


@pytest.mark.parametrize(
    ("share", "n_fits", "said"),
    [(0.2, 6, "fold 1 of 5"), (0.7, 6, "fold 4 of 5"), (0.99, 6, "fold 5 of 5"), (0.5, 12, "fit 6 of 11")],
)
def test_counts_the_fits_that_judge_the_model(
    capsys: pytest.CaptureFixture[str], share: float, n_fits: int, said: str
) -> None:
    document = fit_document() | {"validation": {"folds": 5, "repeats": 1}, "n_fits": n_fits}
    document["progress"] |= {"share_done": share, "phase": "evidence"}
    with progress_bar(FitRecord.of(document), visible=True) as show:
        show(FitRecord.of(document))
    line = capsys.readouterr().err.split("\r")[-1]
    assert line.startswith("evidence |")
    assert f"{100 * share:.0f}%, {said}, best" in line


def test_says_why_nothing_happens(capsys: pytest.CaptureFixture[str]) -> None:
    record = FitRecord.of(fit_document("queued", status_detail="waiting: no worker is alive"))
    with progress_bar(record, visible=True) as show:
        show(record)
    assert "no worker is alive" in capsys.readouterr().err


def test_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    record = FitRecord.of(fit_document())
    with progress_bar(record, visible=is_watched()) as show:
        show(record)
    assert capsys.readouterr().err == ""


def test_notebooks_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_watched()
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert is_watched()
