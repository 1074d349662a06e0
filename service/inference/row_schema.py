"""The JSON Schema of one row for a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from melm.model import Model
from melm.tables.encoding import CategoryColumn, Column, NumberColumn, TimeColumn


def row_schema(model: Model, title: str) -> dict[str, Any]:
    """Columns, their types and categories. A value may be null if the column had missing values in training."""
    columns = [NumberColumn(name, median=0.0) for name in model.columns]
    known: Sequence[Column] = columns if model.encoder is None else model.encoder.columns
    properties = {column.name: column_schema(column) for column in known}
    if model.id_name is not None:
        properties[model.id_name] = {"description": "The id of the row, which is returned with the answer."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": [column.name for column in known],
        "additionalProperties": True,
    }


def column_schema(column: Column) -> dict[str, Any]:
    """The JSON Schema of a value of a column. Unknown categories are allowed, and are encoded as "other"."""
    kind = "number" if isinstance(column, NumberColumn) else "string"
    schema: dict[str, Any] = {"type": [kind, "null"] if column.n_missing else kind}
    if isinstance(column, TimeColumn):
        schema["description"] = "A date or a time, such as 2026-11-18T20:00."
    if isinstance(column, CategoryColumn):
        schema["examples"] = list(column.categories)
        schema["description"] = "Other values are treated as unknown categories."
    return schema
