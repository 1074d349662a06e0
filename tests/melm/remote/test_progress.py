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
    assert "1/4 starts, best divergence 1.5, about 9 s left" in line


def test_says_why_nothing_happens(capsys: pytest.CaptureFixture[str]) -> None:
    record = FitRecord.of(fit_document("queued", status_detail="waiting: no worker is alive"))
    with progress_bar(record, visible=True) as show:
        show(record)
    assert "no worker is alive" in capsys.readouterr().err


def test_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    record = FitRecord.of(fit_document())
    with progress_bar(record) as show:
        show(record)
    assert capsys.readouterr().err == ""


def test_notebooks_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_watched()
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert is_watched()
