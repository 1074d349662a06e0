"""A short summary of a model for consoles and notebooks: its size, its verdict, and what to call next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from melm.model import picture
from melm.model.markup import Markup, fill, join

if TYPE_CHECKING:
    from melm.model import Model

DRAWN_POINTS = 600
SHOWN_CLASSES = 10
UNJUDGED = "This card holds no verdict: the picture alone does not show whether it holds on new rows."
JUDGE = "estimator.validate(X, y)"  # of MELM
CALLS = ("model.plot()", "model.loadings()")


def as_text(model: Model) -> str:
    """The summary as a few lines of text."""
    return "\n".join([sizes(model), *verdict(model), *model.card.warnings, f"How to go on: {', '.join(calls(model))}"])


def as_html(model: Model) -> Markup:
    """The summary as HTML, with a picture."""
    sentence, *advice = verdict(model)
    drawn = picture.draw(picture.with_axis_names(picture.describe(model, model.method, DRAWN_POINTS), model))
    warnings = join(fill("<p>{}</p>", warning) for warning in model.card.warnings)
    return fill(
        '<div style="overflow-x: auto"><p><b>{}</b></p>{}<p>{}</p>{}<p>How to go on: {}</p>{}</div>',
        sentence,
        join(fill("<p>{}</p>", line) for line in advice),
        sizes(model),
        warnings,
        join(fill("<code>{}</code> ", call) for call in calls(model)),
        drawn,
    )


def verdict(model: Model) -> list[str]:
    """What can be relied on, and what to do next."""
    found = model.card.verdict
    return [UNJUDGED] if found is None else [found.sentence, found.next]


def calls(model: Model) -> list[str]:
    """What to call next."""
    if model.card.validation is not None:
        return [*CALLS, "model.importance()", "model.confusion()"]
    return [JUDGE, *CALLS] if model.card.search is not None else [*CALLS]


def sizes(model: Model) -> str:
    """What was fitted, in one line."""
    data = model.card.data
    (n_features, n_components), n_classes = model.projection.shape, len(model.classes)
    features = f"{n_features:,} features"
    if model.encoder is not None:
        features += f" of {len(model.columns):,} columns"
    counts = list(zip(data.classes, data.class_counts, strict=True))
    named = ", ".join(f"{label} ({n_rows:,})" for label, n_rows in counts[:SHOWN_CLASSES])
    more = f" and {n_classes - SHOWN_CLASSES} more" if n_classes > SHOWN_CLASSES else ""
    components = "1 component" if n_components == 1 else f"{n_components} components"
    return f"Model by {model.method}: {data.n_rows:,} rows, {features}, {components}. Classes: {named}{more}."
