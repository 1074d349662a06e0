"""Data sets come from a folder or from OpenML, and are the paper's or are refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from bench.paper.data_sets import NoData, download, find_folder, load
from tests.bench.paper.synthetic import write_data_set


def test_a_file_is_features_and_labels(tmp_path: Path) -> None:
    write_data_set(tmp_path, "heart")
    data = load(tmp_path, "heart")
    assert data.X.shape == (270, 13)
    assert np.bincount(data.codes).tolist() == [135, 135]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_data_set(tmp_path, "heart")
    with pytest.raises(NoData, match=r"has no sonar\.csv, splice\.csv"):
        find_folder(tmp_path, ["heart", "sonar", "splice"], tmp_path / "downloads", download)


def test_another_data_set_of_that_name_is_refused_before_any_work(tmp_path: Path) -> None:
    write_data_set(tmp_path, "heart", n_rows=303)
    with pytest.raises(NoData, match=r"shape \(303, 13\), but the paper's heart has 270 rows of 13 features"):
        find_folder(tmp_path, ["heart"], tmp_path / "downloads", download)


@pytest.mark.parametrize(
    ("label", "feature", "complaint"), [("1", "male", "must be a number"), ("0", "1", "two labels are needed")]
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, label: str, feature: str, complaint: str) -> None:
    write_data_set(tmp_path, "heart")
    path = tmp_path / "heart.csv"
    header, first, *rest = path.read_text().splitlines()
    cells = first.split(",")
    cells[0], cells[-1] = feature, label
    path.write_text("\n".join([header, ",".join(cells), *rest]))
    with pytest.raises(NoData, match=complaint):
        load(tmp_path, "heart")


def test_without_a_folder_openml_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(name: str, **_: Any) -> SimpleNamespace:
        asked.append(name)
        X = np.random.default_rng(0).standard_normal((270, 13))
        target = np.where(np.arange(270) % 3, "absent", "present")
        return SimpleNamespace(data=X, target=target, feature_names=[f"x{j}" for j in range(13)])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    for _ in range(2):
        folder = find_folder(None, ["heart"], tmp_path / "downloads", download)
    assert asked == ["heart-statlog"]
    assert np.bincount(load(folder, "heart").codes).tolist() == [180, 90]


def test_without_a_network_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str, **_: Any) -> SimpleNamespace:
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(NoData, match=r"no route to host.*make paper DATA=folder"):
        find_folder(None, ["heart"], tmp_path / "downloads", download)
