"""A model in a few words, for consoles and notebooks: whether it holds, what it is, how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from melm.model import picture
from melm.model.markup import Markup, fill, join

if TYPE_CHECKING:
    from melm.model import Model

DRAWN_POINTS = 600
SHOWN_CLASSES = 10
UNJUDGED = "This card holds no verdict: the picture alone does not show whether it holds on new rows."
JUDGE = "estimator.validate(X, y)"  # how to go on where nothing is known yet,
CALLS = ("model.plot()", "model.loadings()", "model.importance()")  # and else


def as_text(model: Model) -> str:
    """Three or four lines."""
    advice = [] if model.card.validation else [f"In this process: {JUDGE}"]
    return "\n".join([sizes(model), *verdict(model), *advice])


def as_html(model: Model) -> Markup:
    """The same with a picture."""
    sentence, *advice = verdict(model)
    drawn = picture.draw(picture.with_axis_names(picture.describe(model, model.method, DRAWN_POINTS), model))
    judged = model.card.validation is not None
    calls = CALLS if judged else (JUDGE, *CALLS[:2])
    warnings = join(fill("<li>{}</li>", warning) for warning in model.card.warnings)
    return fill(
        '<div style="max-width: {}px"><p><b>{}</b></p>{}<p>{}</p><ul>{}</ul><p>{}</p>{}</div>',
        picture.SIZE + 2 * picture.GAP,
        sentence,
        join(fill("<p>{}</p>", line) for line in advice),
        sizes(model),
        warnings,
        Markup(" · ").join(fill("<code>{}</code>", call) for call in calls),
        drawn,
    )


def verdict(model: Model) -> list[str]:
    """What can be relied on, and what to do next."""
    found = model.card.verdict
    return [UNJUDGED] if found is None else [found.sentence, found.next]


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
