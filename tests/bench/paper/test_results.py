"""The tidy table and the statistics of its scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.paper.results import Estimate, Line, Place, Results

LINE = Line("pipeline", "strict", "heart", "melm", "true", 0, 0, "gamma=1.0", 0.9, 0.8, 0.7, "svm")


def lines(entrant: str, svm: list[float], **fields: str) -> list[Line]:
    common = replace(LINE, entrant=entrant, **fields)  # type: ignore[arg-type]
    return [replace(common, fold=fold, svm=score) for fold, score in enumerate(svm)]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = Results([LINE, replace(LINE, fold=1, svm=2 / 3, believed="")])
    written.write(tmp_path / "results.csv")
    read = Results.read(tmp_path / "results.csv")
    assert read.lines == [LINE, replace(LINE, fold=1, svm=0.6667, believed="")]
    read.write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "results.csv").read_bytes()


def test_a_strict_pipeline_is_scored_by_the_classifier_that_was_believed() -> None:
    results = Results([LINE, replace(LINE, fold=1, believed="kde")])
    scores = results.scores(Place("pipeline", "strict", "heart", "melm"))
    assert scores is not None
    assert scores.tolist() == [0.9, 0.7]


def test_a_picture_is_scored_by_the_mean_of_three() -> None:
    results = Results([replace(LINE, table="separability", believed="")])
    assert results.scores(Place("separability", "strict", "heart", "melm")) == pytest.approx([0.8])


def test_the_paper_like_protocol_takes_what_did_best_on_the_reported_folds() -> None:
    worse = lines("melm", [0.1, 0.2], protocol="paper-like", believed="")
    better = lines("melm", [0.95, 0.85], protocol="paper-like", parameters="gamma=2.0", believed="")
    scores = Results([*worse, *better]).scores(Place("pipeline", "paper-like", "heart", "melm"))
    assert scores == pytest.approx([0.95, 0.85])


def test_differences_are_taken_fold_by_fold() -> None:
    results = Results([*lines("melm", [0.9, 0.8, 0.7, 0.6, 0.5]), *lines("pca", [0.8, 0.7, 0.6, 0.5, 0.4])[::-1]])
    own = Place("pipeline", "strict", "heart", "melm")
    difference = results.difference(own, own._replace(entrant="pca"))
    assert difference is not None
    assert difference.mean == pytest.approx(0.1)
    assert difference.error == pytest.approx(0)
    assert results.difference(own, own._replace(entrant="gem")) is None


def test_the_error_is_corrected_for_shared_training_rows() -> None:
    scores = np.array([0.7, 0.8, 0.9, 0.8, 0.8])
    assert Estimate.of(scores).error == pytest.approx(scores.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4))


def test_cells_that_were_run_again_take_the_place_of_the_old() -> None:
    old = Results([*lines("melm", [0.9, 0.8]), *lines("pca", [0.7, 0.6])])
    new = Results([*lines("pca", [0.5]), *lines("lda", [0.4])])
    both = old.with_cells(new)
    assert both.lines == [*lines("melm", [0.9, 0.8]), *lines("pca", [0.5]), *lines("lda", [0.4])]
