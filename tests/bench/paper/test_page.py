"""docs/paper.md says what the committed results give, and its tables what they should."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from bench.paper import figures, page
from bench.paper.__main__ import KEPT, PAGES
from bench.paper.entrants import ENTRANTS, PUBLIC_ENTRANTS
from bench.paper.output import Output, PaperOutput, PublicOutput
from bench.paper.public_data import PUBLIC
from bench.paper.published import SHAPES
from bench.paper.results import Line, Results
from bench.paper.tasks import TableName

COMMITTED = PaperOutput(KEPT, PAGES)
COMMITTED_PUBLIC = PublicOutput(KEPT, PAGES)


def results(scores: dict[str, list[float]], table: TableName = "separability") -> Results:
    """Strict results of some entrants on heart and sonar, one score for each fold."""
    return Results(
        Line(table, "strict", data_set, entrant, "true", 0, fold, "", score, score, score, "")
        for data_set, (entrant, folds) in product(("heart", "sonar"), scores.items())
        for fold, score in enumerate(folds)
    )


@pytest.mark.parametrize("committed", [COMMITTED, COMMITTED_PUBLIC], ids=["paper", "public"])
def test_the_page_is_what_the_committed_results_give(committed: Output) -> None:
    assert committed.page.read_text() == committed.render()


def test_the_start_figures_are_what_the_committed_starts_give() -> None:
    starts = COMMITTED.read_starts()
    assert (PAGES / "images" / "paper-histograms.svg").read_text() == figures.histograms(starts)
    assert (PAGES / "images" / "paper-starts.svg").read_text() == figures.curves(starts)


def test_the_committed_results_are_whole() -> None:
    committed = Results.read(COMMITTED.results)
    assert committed.data_sets == list(SHAPES)
    assert {line.entrant for line in committed.lines} == {entrant.name for entrant in ENTRANTS}
    assert {(line.table, line.protocol, line.labels) for line in committed.lines} == set(
        product(("separability", "pipeline"), ("strict", "paper-like"), ("true", "shuffled"))
    ) | {("held-out", "strict", "true")}, "every table of the paper has its noise control"
    assert {name: len(values) for name, values in COMMITTED.read_starts().items()} == dict.fromkeys(SHAPES, 500)


def test_the_committed_results_on_public_data_are_whole() -> None:
    """Every data set that was run has every method."""
    committed = Results.read(COMMITTED_PUBLIC.results)
    assert {(line.data_set, line.entrant) for line in committed.lines if line.table == "held-out"} == set(
        product(committed.data_sets, (entrant.name for entrant in PUBLIC_ENTRANTS))
    )
    assert set(committed.data_sets) <= PUBLIC.keys()
    assert len(committed.data_sets) >= 15


def test_the_committed_results_are_small() -> None:
    assert COMMITTED.results.stat().st_size < 2_500_000


@pytest.mark.parametrize(
    ("melm", "n_above", "below"),
    [
        ([0.9, 0.8, 0.9, 0.8, 0.9], 2, "none"),
        ([0.5, 0.5, 0.5, 0.5, 0.5], 0, "2 (heart, sonar)"),
        ([0.9, 0.5, 0.9, 0.5, 0.65], 0, "none"),
    ],
)
def test_a_verdict_counts_wins_and_losses(melm: list[float], n_above: int, below: str) -> None:
    text = page.verdict(results({"melm": melm, "pca": [0.7] * 5, "gem": [0.6] * 5, "nca": [0.99] * 5}), "separability")
    assert "pca .700" in text, "the best of the eight, of which NCA is none"
    assert f"on {n_above} of 2 data sets" in text
    assert text.endswith(f"by more than one standard error on {below}.\n")


def test_tables_show_what_was_run_and_mark_what_was_not() -> None:
    some = results({"melm": [0.9] * 5, "pca": [0.7] * 5})
    table = page.scores(some, "separability", "strict").splitlines()
    assert table[0] == "|  | heart | sonar | mean |"
    assert table[2:] == ["| melm | .900 ± .000 | .900 ± .000 | .900 |", "| pca | .700 ± .000 | .700 ± .000 | .700 |"]
    beside = page.beside_published(some, "separability").splitlines()
    assert beside[2].startswith("| heart | .918 | – | .900 (−.018) | .833 | – | .700 (−.133) | .751 | – | – | melm |")


def test_the_default_is_compared_with_each_other_entrant() -> None:
    some = results({"melm regularization=path": [0.9] * 5, "pca": [0.7] * 5}, "held-out")
    some = Results([replace(line, svm=1.0) if line.data_set == "sonar" else line for line in some.lines])
    text = page.gains(some, "held-out", ["heart", "sonar", "splice"])
    assert text.splitlines()[2:] == ["| pca | 2 | 0 | 0 | +.167 | +.133 sonar | 0.500 |"]


def test_means_over_data_sets_are_compared_in_pairs() -> None:
    text = page.rivals(results({"melm": [0.9] * 5, "pca": [0.7] * 5}), "separability")
    assert text.splitlines()[2:] == ["| pca | 2 | 0 | 0 | +.200 | 0.500 |"]


def test_the_summary_has_only_means_over_all_data_sets() -> None:
    some = results({"melm": [0.9] * 5, "melm gamma chosen": [0.8] * 5, "pca": [0.7] * 5, "lda": [0.95] * 5})
    lines = [line for line in some.lines if (line.entrant, line.data_set) != ("lda", "sonar")]
    shuffled = [replace(line, labels="shuffled", svm=0.5, knn=0.5, kde=0.5) for line in lines if line.entrant == "melm"]
    (line,) = page.summary(Results([*lines, *shuffled])).splitlines()
    assert "MELM .900, melm gamma chosen .800; the best other method, pca, .700;" in line
    assert "With shuffled labels MELM has .500." in line
    default = [replace(line, entrant="melm regularization=path") for line in shuffled]
    (line,) = page.summary(Results([*lines, *shuffled, *default])).splitlines()
    assert "With shuffled labels MELM has .500, the default .500." in line
