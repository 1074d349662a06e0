"""Public data sets are read out of the packages that carry them, and are what they were or are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.paper import public_data
from bench.paper.data_sets import NoData, load
from bench.paper.public_data import PUBLIC, extract
from bench.paper.published import SHAPES


@pytest.mark.parametrize("name", ["three-eight", "penguins", "digits"])
def test_a_set_is_extracted_as_declared(name: str, tmp_path: Path) -> None:
    extract(name, tmp_path)
    data = load(tmp_path, name)
    declared = PUBLIC[name]
    assert data.X.shape == (declared.n_rows, declared.n_features)
    assert len(np.unique(data.codes)) == declared.n_classes
    assert np.isfinite(data.X).all()


def test_a_sample_is_always_the_same(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        extract("digits", tmp_path / folder)
    assert (tmp_path / "one" / "digits.csv").read_bytes() == (tmp_path / "other" / "digits.csv").read_bytes()


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLIC, "iris", replace(PUBLIC["iris"], package="no_such_package.datasets"))
    with pytest.raises(NoData, match=r"iris comes with the package no_such_package.*pip install no_such_package"):
        extract("iris", tmp_path)


def test_a_set_that_has_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_data, "MAX_ROWS", 100)
    with pytest.raises(NoData, match=r"iris of sklearn.datasets has changed: .*\(100, 4, 3\)"):
        extract("iris", tmp_path)


def test_the_sets_are_not_those_of_the_paper() -> None:
    assert not PUBLIC.keys() & SHAPES.keys()
