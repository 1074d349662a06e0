"""The card of a model as a document: one HTML file that refers to nothing outside, to be mailed and archived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from melm.evidence.citation import PAPER, SOFTWARE
from melm.evidence.verdict import verdict_of
from melm.model import Model
from service import plot
from service.schemas import ModelOut

MAX_FEATURES = 30  # in the table of the features; the JSON form has all
STYLE = """
:root { color-scheme: light dark; --quiet: #6b7280; --line: #d1d5db; --accent: #0072B2 }
@media (prefers-color-scheme: dark) { :root { --quiet: #9ca3af; --line: #374151; --accent: #56B4E9 } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } .quiet { color: var(--quiet) }
.verdict { font-size: 1.25rem; margin: 1rem 0 }
h2 { font-size: 1.1rem; margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .8rem .2rem 0 }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
thead th { border-bottom: 1px solid var(--line) } svg { max-width: 100%; height: auto; background: #fff }
li.warning { margin: .3rem 0 } .bar { display: inline-block; height: .7em; background: var(--accent) }
@media print { body { margin: 0 } }
"""


def render(out: ModelOut, model: Model) -> str:
    """The document."""
    title = out.name or out.id
    body = "".join(
        f"<section>{heading}{content}</section>"
        for heading, content in (
            (f"<h1>{escape(title)}</h1>", introduction(out)),
            ("", verdict(out.card)),
            ("", f"<figure>{plot.draw(plot.describe(model, out.id))}</figure>"),
            (heading("What to keep in mind"), warnings(out.card)),
            (heading("On rows it had not seen"), held_out(out.card)),
            (heading("What makes up the picture"), features(out.card)),
            (heading("The data"), data(out.card)),
            (heading("How it was fitted"), parameters(out)),
            (heading("Intended use and limits"), LIMITS),
            (heading("How to cite"), citation()),
        )
        if content
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{body}</body></html>"
    )


def heading(text: str) -> str:
    """Of a section."""
    return f"<h2>{escape(text)}</h2>"


def introduction(out: ModelOut) -> str:
    """What this is, in one line."""
    facts = out.card["data"]
    shape = f"{facts['n_rows']:,} rows, {facts['n_features']:,} features, {len(facts['classes'])} classes"
    return f'<p class="quiet">Model {escape(out.id)} by {escape(out.method)}, {out.created_at:%Y-%m-%d}. {shape}.</p>'


def verdict(card: dict[str, Any]) -> str:
    """What a person can rely on, and what to do next."""
    found = verdict_of(card)
    return f'<p class="verdict">{escape(found.sentence)}</p><p>{escape(found.next)}</p>'


def warnings(card: dict[str, Any]) -> str:
    """What speaks against trusting the picture."""
    return "".join(f'<ul><li class="warning">{escape(text)}</li></ul>' for text in card["warnings"])


def held_out(card: dict[str, Any]) -> str:
    """The confusion of the classes, and the evidence of shuffled labels and redrawn rows."""
    validation = card.get("validation")
    if not validation:
        return ""
    labels = [str(label) for label in card["data"]["classes"]]
    rows = [
        [label, *counts, f"{recall:.1%}"]
        for label, counts, recall in zip(labels, validation["confusion"], validation["recall_by_class"], strict=True)
    ]
    times = "once" if validation["repeats"] == 1 else f"{validation['repeats']} times"
    text = f"<p>The whole fit inside each of {validation['folds']} folds, {times}.</p>"
    text += table(["true class", *(f"told as {label}" for label in labels), "recognized"], rows)
    if test := card.get("permutation_test"):
        p_value = test["p_value_of_balanced_accuracy"]
        text += f"<p>Against {test['permutations']} fits to shuffled labels: p = {p_value:.3f}.</p>" if p_value else ""
    if stability := card.get("stability"):
        cosines = ", ".join(f"{cosine['median']:.2f}" for cosine in stability["cosines"])
        text += f"<p>Found again in {stability['bootstraps']} fits to redrawn rows (1 is fully): {cosines}.</p>"
    return text


def features(card: dict[str, Any]) -> str:
    """The features that weigh most, by their standardized loadings."""
    loadings = card["loadings"]
    order = sorted(range(len(loadings)), key=lambda j: -max(map(abs, loadings[j])))[:MAX_FEATURES]
    n_axes = len(loadings[0])
    widest = max((abs(value) for j in order for value in loadings[j]), default=1.0) or 1.0
    header = ["feature", *(f"loading on axis {axis + 1}" for axis in range(n_axes)), "", "correlation with axis 1"]
    rows = []
    for j in order:
        bar = Markup(f'<span class="bar" style="width:{6 * max(map(abs, loadings[j])) / widest:.2f}rem"></span>')
        values = [f"{value:+.2f}" for value in loadings[j]]
        rows.append([card["features"][j], *values, bar, f"{card['axis_correlations'][j][0]:+.2f}"])
    note = f'<p class="quiet">The {len(order)} of {len(loadings)} features that weigh most.</p>'
    return table(header, rows) + (note if len(order) < len(loadings) else "")


def data(card: dict[str, Any]) -> str:
    """Classes and their sizes; columns where the data was a table."""
    facts = card["data"]
    text = table(["class", "rows"], zip(facts["classes"], facts["class_counts"], strict=True))
    if facts["constant_features"]:
        text += f"<p>{len(facts['constant_features'])} constant features were left out.</p>"
    if columns := card.get("columns"):
        rows = [[column["name"], column["kind"], f"{column['n_missing'] / facts['n_rows']:.1%}"] for column in columns]
        text += table(["column", "kind", "missing"], rows)
    return text


def parameters(out: ModelOut) -> str:
    """Parameters and versions."""
    software = out.card["software"]
    versions = [*software["versions"].items(), ("python", software["python"]), ("machine", software["machine"])]
    text = table(["parameter", "value"], sorted(out.card.get("parameters", {}).items()))
    return text + table(["software", "version"], versions)


LIMITS = """<p>The model shows labeled data in few dimensions and tells the class of rows of the same kind. It does not
say why classes differ, nor what causes what: a feature with a large loading may stand for another. Rows far from all
training data get a class all the same; their log density says that they are far. Do not use it for decisions about
people without a study of its errors on them.</p>"""


def citation() -> str:
    """Paper and software."""
    return f"<p>{escape(PAPER)}</p><p>{escape(SOFTWARE)}</p>"


class Markup(str):
    """Text that is HTML already."""


def table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A column of nothing but numbers stands to the right."""
    body = [list(row) for row in rows]
    is_number = [all(str(row[j])[:1] in "+-0123456789" for row in body) for j in range(len(header))]

    def line(tag: str, values: Iterable[object]) -> str:
        cells = []
        for value, to_the_right in zip(values, is_number, strict=True):
            text = value if isinstance(value, Markup) else escape(str(value))
            cells.append(f'<{tag} class="number">{text}</{tag}>' if to_the_right else f"<{tag}>{text}</{tag}>")
        return f"<tr>{''.join(cells)}</tr>"

    lines = "".join(line("td", row) for row in body)
    return f"<table><thead>{line('th', header)}</thead><tbody>{lines}</tbody></table>"
