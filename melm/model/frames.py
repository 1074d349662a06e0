"""Parts of a card as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from melm.model import Model


def loadings(model: Model) -> Any:
    """A row for each feature, a column for each axis."""
    return _frame(model.standardized_loadings, model.features, _axes(model), "feature")


def axis_correlations(model: Model) -> Any:
    """A row for each feature that the card lists, a column for each axis."""
    return _frame(model.card.axis_correlations, model.card.features, _axes(model), "feature")


def importance(model: Model) -> Any:
    """A row for each column of the table, the most important first."""
    found = model.card.importance
    if found is None:
        raise ValueError(_without("importance"))
    drops = {"balanced_accuracy_drop": found.balanced_accuracy_drop, "divergence_drop": found.divergence_drop}
    frame = _frame(drops, found.columns, list(drops), "column")
    return frame.sort_values("balanced_accuracy_drop", ascending=False, kind="stable")


def confusion(model: Model) -> Any:
    """A row for each true class, a column for each predicted one."""
    found = model.card.validation
    if found is None:
        raise ValueError(_without("confusion of held-out rows"))
    classes = model.classes.tolist()
    return _frame(found.confusion, classes, classes, "true").rename_axis(columns="predicted")


def starts(model: Model) -> Any:
    """A row for each start."""
    search = model.card.search
    if search is None:
        raise ValueError(f"The method {model.method!r} has no starts: it does not search.")
    found = [start.model_dump() for start in search.starts]
    names = [name for name in found[0] if name != "start"] if found else []
    return _frame([[each[name] for name in names] for each in found], [each["start"] for each in found], names, "start")


def _axes(model: Model) -> list[str]:
    return [f"z{axis}" for axis in range(model.projection.shape[1])]


def _without(what: str) -> str:
    return f"The model has no {what}, because the fit was not judged on held-out rows: MELM.validate(X, y) does that."


def _frame(values: Any, index: Sequence[Any], columns: Sequence[Any], name: str) -> Any:
    if find_spec("pandas") is None:
        raise ModuleNotFoundError("A DataFrame needs pandas: pip install pandas", name="pandas")
    import pandas as pd

    return pd.DataFrame(values, pd.Index(index, name=name), columns)
