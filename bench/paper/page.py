"""docs/paper.md: the hand-written text of page.md around tables that are worked out from the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from bench.paper.entrants import ENTRANTS, MELM, PAPER_LIKE, PATH, RIVALS, Entrant
from bench.paper.figures import PAPER_STARTS, expected_best
from bench.paper.published import PIPELINE, SEPARABILITY, SHAPES
from bench.paper.results import Estimate, Place, Results
from bench.paper.tasks import Labels, Protocol, TableName
from melm.comparison.paired_test import compare
from melm.typing import Array

TEXT = Path(__file__).with_name("page.md")
PUBLISHED: Mapping[TableName, Mapping[str, Mapping[str, float]]] = {"pipeline": PIPELINE, "separability": SEPARABILITY}
TITLES: Mapping[TableName, str] = {"separability": "Pictures (table 3)", "pipeline": "Pipelines (table 2)"}
NOT_RUN = "–"
WITHIN = 0.05  # of the best: what the paper calls having found it
ROOMY = [name for name in SHAPES if name not in ("breast-cancer", "fourclass")]  # all methods do equally well on these


def write_page(results: Results, divergences: Mapping[str, Array]) -> str:
    """The whole page."""
    return Template(TEXT.read_text()).substitute(
        summary=summary(results),
        strict_separability=scores(results, "separability", "strict"),
        strict_pipeline=scores(results, "pipeline", "strict"),
        paper_like_separability=scores(results, "separability", "paper-like"),
        paper_like_pipeline=scores(results, "pipeline", "paper-like"),
        separability_verdict=verdict(results, "separability"),
        pipeline_verdict=verdict(results, "pipeline"),
        separability_rivals=rivals(results, "separability"),
        pipeline_rivals=rivals(results, "pipeline"),
        published_separability=beside_published(results, "separability"),
        published_pipeline=beside_published(results, "pipeline"),
        strict_held_out=scores(results, "held-out", "strict"),
        n_folds=n_folds(results, results.data_sets, ENTRANTS),
        held_out_gains=gains(results, "held-out", ROOMY),
        starts=starts(divergences),
    )


def summary(results: Results) -> str:
    """Means over the data sets, of entrants that were run on all of them; one line for each table."""
    lines = []
    for table, title in TITLES.items():
        cells = {entrant.name: _means(results, table, entrant.name) for entrant in ENTRANTS}
        means = {name: float(np.mean(found)) for name, found in cells.items() if len(found) == len(results.data_sets)}
        tuned = {name: mean for name, mean in means.items() if name.startswith(f"{MELM.method} ")}
        others = {name: mean for name, mean in means.items() if name.split()[0] != MELM.method}
        shuffled = _means(results, table, MELM.name, "shuffled")
        of_default = _means(results, table, PATH.name, "shuffled")
        if MELM.name not in means or not others or not shuffled:
            continue
        published = float(np.mean([PUBLISHED[table][MELM.method][name] for name in results.data_sets]))
        best_other = max(others, key=lambda name: others[name])
        lines.append(
            f"- {title}, strict, mean over {len(cells[MELM.name])} data sets: MELM {number(means[MELM.name])}"
            + "".join(f", {name} {number(mean)}" for name, mean in tuned.items())
            + f"; the best other method, {best_other}, {number(others[best_other])}"
            + (f"; NCA {number(others['nca'])}" if "nca" in others else "")
            + f"; the paper's MELM {number(published)}. With shuffled labels MELM has {number(np.mean(shuffled))}"
            + (f", the default {number(np.mean(of_default))}" if len(of_default) == len(shuffled) else "")
            + ".\n"
        )
    return "".join(lines)


def _means(results: Results, table: TableName, entrant: str, labels: Labels = "true") -> list[float]:
    estimates = [results.estimate(Place(table, "strict", name, entrant, labels)) for name in results.data_sets]
    return [estimate.mean for estimate in estimates if estimate is not None]


def scores(results: Results, table: TableName, protocol: Protocol, entrants: Sequence[Entrant] = ENTRANTS) -> str:
    """Every entrant on every data set, with shuffled labels at the end."""
    rows = []
    for entrant in entrants:
        cells = [results.estimate(Place(table, protocol, name, entrant.name)) for name in results.data_sets]
        if any(cells):
            rows.append([entrant.name, *map(_estimate, cells), _mean(cells)])
    for entrant in entrants:
        cells = [results.estimate(Place(table, protocol, name, entrant.name, "shuffled")) for name in results.data_sets]
        if any(cells):
            rows.append([f"*shuffled labels:* {entrant.name}", *map(_estimate, cells), _mean(cells)])
    return markdown(["", *results.data_sets, "mean"], rows)


def verdict(results: Results, table: TableName) -> str:
    """MELM against the best of the paper's eight other methods, and against NCA, data set by data set."""
    rows, above, below = [], [], []
    for name in results.data_sets:
        own = Place(table, "strict", name, MELM.name)
        others = {entrant.name: results.estimate(own._replace(entrant=entrant.name)) for entrant in RIVALS}
        run = {entrant: estimate for entrant, estimate in others.items() if estimate is not None}
        estimate = results.estimate(own)
        if estimate is None or not run:
            continue
        best = max(run, key=lambda entrant: run[entrant].mean)
        difference = results.difference(own, own._replace(entrant=best))
        neighbors = own._replace(entrant="nca")
        if difference is not None and difference.mean > 0:
            above.append(name)
        if any(_is_below(results.difference(own, own._replace(entrant=entrant))) for entrant in run):
            below.append(name)
        rows.append(
            [
                name,
                _estimate(estimate),
                f"{best} {number(run[best].mean)}",
                _difference(difference),
                _estimate(results.estimate(neighbors)),
                _difference(results.difference(own, neighbors)),
            ]
        )
    header = ["", "melm", "best of the eight", "difference", "nca", "difference"]
    return (
        markdown(header, rows) + f"\nAbove the best of the paper's eight other methods on {len(above)} of {len(rows)} "
        f"data sets; below one of them by more than one standard error on {_listed(below)}.\n"
    )


def rivals(results: Results, table: TableName) -> str:
    """MELM against each other entrant over data sets."""
    rows = []
    for entrant in ENTRANTS:
        pairs = []
        for name in results.data_sets:
            own = Place(table, "strict", name, MELM.name)
            pair = results.estimate(own), results.estimate(own._replace(entrant=entrant.name))
            if entrant != MELM and pair[0] is not None and pair[1] is not None:
                pairs.append((pair[0].mean, pair[1].mean))
        if pairs:
            found = compare(*zip(*pairs, strict=True))
            counts = [str(found.wins), str(found.ties), str(found.losses)]
            rows.append([entrant.name, *counts, _signed(found.median_difference), f"{found.p_value:.3f}"])
    return markdown(["melm against", "better", "equal", "worse", "median difference", "p"], rows)


def gains(results: Results, table: TableName, data_sets: Sequence[str], entrants: Sequence[Entrant] = ENTRANTS) -> str:
    """How much better the library's default is than each other entrant, over the data sets on which both were run."""
    rows = []
    for entrant in entrants:
        pairs = {}
        for name in data_sets:
            own = Place(table, "strict", name, PATH.name)
            pair = results.estimate(own), results.estimate(own._replace(entrant=entrant.name))
            if entrant != PATH and pair[0] is not None and pair[1] is not None:
                pairs[name] = pair[0].mean, pair[1].mean
        if pairs:
            differences = {name: own - other for name, (own, other) in pairs.items()}
            found = compare(*zip(*pairs.values(), strict=True))
            counts = [str(found.wins), str(found.ties), str(found.losses)]
            worst = min(differences, key=lambda name: differences[name])
            mean = _signed(float(np.mean(list(differences.values()))))
            rows.append([entrant.name, *counts, mean, f"{_signed(differences[worst])} {worst}", f"{found.p_value:.3f}"])
    return markdown(["default against", "better", "equal", "worse", "mean difference", "lowest", "p"], rows)


def n_folds(results: Results, data_sets: Sequence[str], entrants: Sequence[Entrant]) -> str:
    """How many folds of new rows were run."""
    places = [Place("held-out", "strict", name, entrant.name) for name in data_sets for entrant in entrants]
    counts = {len(scores) for place in places if (scores := results.scores(place)) is not None}
    return " or ".join(map(str, sorted(counts)))


def beside_published(results: Results, table: TableName) -> str:
    """The paper's figures beside those of both protocols, with differences from the paper, and who wins."""
    published = PUBLISHED[table]
    header, rows = [""], []
    for method in published:
        header += [f"{method}: paper", "paper-like", "strict"]
    many = len(published) > 1
    header += ["wins in the paper", "paper-like", "strict"] if many else []
    columns: list[Mapping[tuple[str, str], float]] = []
    for name in results.data_sets:
        figures: dict[tuple[str, str], float] = {}
        for method in published:
            figures[method, "paper"] = published[method][name]
            for place in (
                Place(table, "paper-like", name, PAPER_LIKE[method].name),
                Place(table, "strict", name, method),
            ):
                estimate = results.estimate(place)
                if estimate is not None:
                    figures[method, place.protocol] = estimate.mean
        columns.append(figures)
        winners = [_winner(figures, kind, published) for kind in ("paper", "paper-like", "strict")] if many else []
        rows.append([name, *_compared(figures, published), *winners])
    means = {
        key: float(np.mean([figures[key] for figures in columns]))
        for key in columns[0]
        if all(key in figures for figures in columns)
    }
    rows.append(["mean", *_compared(means, published), *([""] * 3 if many else [])])
    return markdown(header, rows)


def starts(divergences: Mapping[str, Array]) -> str:
    """What so many starts as the paper takes can be expected to reach."""
    rows, reached = [], 0
    for name, values in divergences.items():
        best, expected = float(values.max()), expected_best(values, PAPER_STARTS)
        reached += expected >= (1 - WITHIN) * best
        near = float((values >= (1 - WITHIN) * best).mean())
        rows.append([name, f"{best:.3f}", f"{expected:.3f}", f"{expected / best:.1%}", f"{near:.1%}"])
    header = ["", f"best of {min(map(len, divergences.values()))}", f"expected best of {PAPER_STARTS}", "share"]
    return (
        markdown([*header, f"starts within {WITHIN:.0%} of the best"], rows)
        + f"\n{PAPER_STARTS} random starts can be expected to come within {WITHIN:.0%} of the best on {reached} of "
        f"{len(rows)} data sets.\n"
    )


def _compared(figures: Mapping[tuple[str, str], float], methods: Iterable[str]) -> list[str]:
    cells = []
    for method in methods:
        paper = figures[method, "paper"]
        cells.append(number(paper))
        for protocol in ("paper-like", "strict"):
            ours = figures.get((method, protocol))
            cells.append(NOT_RUN if ours is None else f"{number(ours)} ({_signed(ours - paper)})")
    return cells


def _winner(figures: Mapping[tuple[str, str], float], kind: str, methods: Iterable[str]) -> str:
    scores = {method: round(figures[method, kind], 3) for method in methods if (method, kind) in figures}
    return ", ".join(method for method, score in scores.items() if score == max(scores.values())) or NOT_RUN


def _is_below(difference: Estimate | None) -> bool:
    return difference is not None and difference.mean < -difference.error


def _estimate(estimate: Estimate | None) -> str:
    return NOT_RUN if estimate is None else f"{number(estimate.mean)} ± {number(estimate.error)}"


def _difference(difference: Estimate | None) -> str:
    return NOT_RUN if difference is None else f"{_signed(difference.mean)} ± {number(difference.error)}"


def _mean(cells: Sequence[Estimate | None]) -> str:
    run = [cell.mean for cell in cells if cell is not None]
    return number(float(np.mean(run))) if len(run) == len(cells) else NOT_RUN


def number(value: float | np.floating[Any]) -> str:
    """Three decimals without the leading zero, as the paper prints them."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0") else text


def _signed(value: float) -> str:
    rounded = round(value, 3)
    return number(0.0) if rounded == 0 else ("+" if rounded > 0 else "−") + number(abs(rounded))


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "none"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
