"""The card of a model as a self-contained HTML file, which can be mailed and archived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import LiteralString

from melm.evidence.citation import PAPER, SOFTWARE
from melm.evidence.verdict import judge_card
from melm.model import Model
from melm.model.card import Card
from melm.model.markup import Markup, fill, join
from service.pictures import plot
from service.schemas import ModelOut

MAX_FEATURES = 30  # in the table of the features; the JSON form has all
STYLE = Markup("""
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
""")
NOTHING = Markup("")


def render(out: ModelOut, model: Model) -> Markup:
    """The report of a model."""
    card = out.card
    sections = (
        (fill("<h1>{}</h1>", out.name or out.id), introduction(out)),
        (NOTHING, verdict(card)),
        (NOTHING, fill("<figure>{}</figure>", plot.draw(plot.with_axis_names(plot.describe(model, out.id), model)))),
        (heading("What to keep in mind"), warnings(card)),
        (heading("On rows it had not seen"), held_out(card)),
        (heading("What makes up the picture"), features(card)),
        (heading("The data"), data(card)),
        (heading("How it was fitted"), parameters(card)),
        (heading("Intended use and limits"), LIMITS),
        (heading("How to cite"), citation()),
    )
    return fill(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # The service sends this policy as well; here it stays with a report that is mailed.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>{}</style></head>"
        "<body>{}</body></html>",
        out.name or out.id,
        STYLE,
        join(fill("<section>{}{}</section>", *section) for section in sections if section[1]),
    )


def heading(text: str) -> Markup:
    """The heading of a section."""
    return fill("<h2>{}</h2>", text)


def introduction(out: ModelOut) -> Markup:
    """One line about the model."""
    facts = out.card.data
    shape = f"{facts.n_rows:,} rows, {facts.n_features:,} features, {len(facts.classes)} classes"
    sentence = f"Model {out.id} by {out.method}, {out.created_at:%Y-%m-%d}. {shape}."
    return fill('<p class="quiet">{}</p>', sentence)


def verdict(card: Card) -> Markup:
    """The verdict, and what to do next."""
    found = card.verdict or judge_card(card)
    return fill('<p class="verdict">{}</p><p>{}</p>', found.sentence, found.next)


def warnings(card: Card) -> Markup:
    """Reasons not to trust the picture."""
    return join(fill('<ul><li class="warning">{}</li></ul>', text) for text in card.warnings)


def held_out(card: Card) -> Markup:
    """The confusion matrix, the permutation test and the stability."""
    validation, test, stability = card.validation, card.permutation_test, card.stability
    if validation is None:
        return NOTHING
    labels = [str(label) for label in card.data.classes]
    rows = [
        [label, *counts, f"{recall:.1%}"]
        for label, counts, recall in zip(labels, validation.confusion, validation.recall_by_class, strict=True)
    ]
    times = "once" if validation.repeats == 1 else f"{validation.repeats} times"
    parts = [
        fill("<p>Cross-validation of the whole fit with {} folds, {}.</p>", validation.folds, times),
        table(["true class", *(f"predicted as {label}" for label in labels), "recognized"], rows),
    ]
    if test is not None and (p_value := test.p_value_of_balanced_accuracy):
        parts.append(
            fill("<p>Permutation test with {} permuted labels: p = {}.</p>", test.permutations, f"{p_value:.3f}")
        )
    if stability is not None:
        cosines = ", ".join(f"{cosine.median:.2f}" for cosine in stability.cosines)
        text = f"Stability of the axes over {stability.bootstraps} bootstrap samples (1: identical): {cosines}."
        parts.append(fill("<p>{}</p>", text))
    return join(parts)


def features(card: Card) -> Markup:
    """The features with the largest standardized loadings."""
    loadings = card.loadings
    order = sorted(range(len(loadings)), key=lambda j: -max(map(abs, loadings[j])))[:MAX_FEATURES]
    n_axes = len(loadings[0])
    widest = max((abs(value) for j in order for value in loadings[j]), default=1.0) or 1.0
    header = ["feature", *(f"loading on axis {axis + 1}" for axis in range(n_axes)), "", "correlation with axis 1"]
    rows = []
    for j in order:
        width = f"{6 * max(map(abs, loadings[j])) / widest:.2f}"
        bar = fill('<span class="bar" style="width:{}rem"></span>', width)
        values = [f"{value:+.2f}" for value in loadings[j]]
        rows.append([card.features[j], *values, bar, f"{card.axis_correlations[j][0]:+.2f}"])
    n_features = len(loadings) + card.n_more_features
    if len(order) == n_features:
        return table(header, rows)
    note = f"The {len(order)} of {n_features} features with the largest loadings."
    return join([table(header, rows), fill('<p class="quiet">{}</p>', note)])


def data(card: Card) -> Markup:
    """Classes and their sizes, and the columns of a table."""
    facts = card.data
    parts = [table(["class", "rows"], zip(facts.classes, facts.class_counts, strict=True))]
    if n_constant := len(facts.constant_features) + facts.n_more_constant_features:
        parts.append(fill("<p>{} constant features were left out.</p>", n_constant))
    if card.columns:
        rows = [[column.name, column.kind, f"{column.n_missing / facts.n_rows:.1%}"] for column in card.columns]
        parts.append(table(["column", "kind", "missing"], rows))
    return join(parts)


def parameters(card: Card) -> Markup:
    """Parameters and versions."""
    software = card.software
    versions = [*software.versions.items(), ("python", software.python), ("machine", software.machine)]
    given = sorted((card.parameters or {}).items())
    return join([table(["parameter", "value"], given), table(["software", "version"], versions)])


LIMITS = Markup("""
<p>The model shows labeled data in few dimensions and tells the class of rows of the same kind. It does not
say why classes differ, nor what causes what: a feature with a large loading may stand for another. Rows far from all
training data get a class all the same; their log density says that they are far. Do not use it for decisions about
people without a study of its errors on them.</p>""")


def citation() -> Markup:
    """Paper and software."""
    return fill("<p>{}</p><p>{}</p>", PAPER, SOFTWARE)


def table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> Markup:
    """A table, in which columns of numbers are aligned to the right."""
    body = [list(row) for row in rows]
    is_number = [all(str(row[j])[:1] in "+-0123456789" for row in body) for j in range(len(header))]

    def line(plain: LiteralString, right: LiteralString, values: Iterable[object]) -> Markup:
        cells = zip(values, is_number, strict=True)
        return fill("<tr>{}</tr>", join(fill(right if to_the_right else plain, value) for value, to_the_right in cells))

    head = line("<th>{}</th>", '<th class="number">{}</th>', header)
    lines = join(line("<td>{}</td>", '<td class="number">{}</td>', row) for row in body)
    return fill("<table><thead>{}</thead><tbody>{}</tbody></table>", head, lines)
