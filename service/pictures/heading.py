"""The heading of a downloaded picture."""

from __future__ import annotations

from melm.evidence.verdict import with_verdict
from melm.methods import METHODS
from melm.model import Model


def heading_of(model: Model, name: str, target: str | None = None) -> list[str]:
    """The lines above a downloaded picture: name, data, score and verdict."""
    card = with_verdict(model.card)
    by_target = f" by {target}" if target else ""
    sizes = f"{card.data.n_rows:,} rows, {card.data.n_features:,} features, {len(model.classes)} classes{by_target}"
    method = METHODS[card.method].title if card.method in METHODS else card.method
    facts = [f"{method}, {sizes}"]
    if card.validation is not None:
        low, high = card.validation.interval
        score = f"{card.validation.balanced_accuracy:.3f} ({low:.3f} to {high:.3f})"
        facts.append(f"balanced accuracy on held-out rows {score}, chance {card.validation.chance:.3f}")
    return [name, "; ".join(facts), *([] if card.verdict is None else [card.verdict.sentence])]
