"""Query parameters with options for reading a table."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Depends, Query
from starlette.datastructures import QueryParams

from melm.tables.options import TEXTS, Missing, RareClasses, ReadOptions, Unlabeled
from service.errors import FieldError, Invalid
from service.intake.upload import parse_roles

COLUMNS = f'{TEXTS["columns"]} A JSON object, such as `{{"age": "numeric", "q*": "ignore"}}`.'


def get_options(
    target: Annotated[str | None, Query(description=TEXTS["target"])] = None,
    columns: Annotated[str | None, Query(description=COLUMNS)] = None,
    missing: Annotated[Missing, Query(description=TEXTS["missing"])] = ReadOptions.missing,
    drop_missing: Annotated[bool, Query(description=TEXTS["drop_missing"])] = ReadOptions.drop_missing,
    unlabeled: Annotated[Unlabeled, Query(description=TEXTS["unlabeled"])] = ReadOptions.unlabeled,
    rare_classes: Annotated[RareClasses, Query(description=TEXTS["rare_classes"])] = ReadOptions.rare_classes,
    day_first: Annotated[bool | None, Query(description=TEXTS["day_first"])] = None,
    delimiter: Annotated[str | None, Query(description=TEXTS["delimiter"], min_length=1, max_length=1)] = None,
    decimal: Annotated[Literal[".", ","] | None, Query(description=TEXTS["decimal"])] = None,
    encoding: Annotated[str | None, Query(description=TEXTS["encoding"])] = None,
    sheet: Annotated[str | None, Query(description=TEXTS["sheet"])] = None,
    missing_values: Annotated[list[str], Query(description=TEXTS["missing_values"])] = [],  # noqa: B006 - FastAPI copies it
) -> ReadOptions:
    """The options for reading a table."""
    return ReadOptions(
        target=target,
        columns=parse_roles(columns),
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        sheet=sheet,
        missing_values=tuple(missing_values),
        missing=missing,
        drop_missing=drop_missing,
        unlabeled=unlabeled,
        rare_classes=rare_classes,
        day_first=day_first,
    )


def parse_query(query: QueryParams) -> ReadOptions:
    """The options for CSV, from a query that FastAPI has not parsed."""
    return ReadOptions(
        delimiter=query.get("delimiter"),
        decimal=query.get("decimal"),
        encoding=query.get("encoding"),
        sheet=query.get("sheet"),
        missing_values=tuple(query.getlist("missing_values")),
        target=query.get("target"),
    )


def parse_raw(query: QueryParams) -> bool:
    """Whether text in CSV is written unchanged."""
    value = query.get("raw", "false")
    if value not in ("true", "false"):
        raise Invalid([FieldError("/query/raw", f"raw is true or false, not {value[:40]!r}")])
    return value == "true"


RAW: dict[str, Any] = {
    "name": "raw",
    "in": "query",
    "required": False,
    "description": "Write text in CSV unchanged. By default, cells that a spreadsheet would interpret as a formula, "
    "which begin with `=`, `+`, `-`, `@`, a tab or a carriage return, are prefixed by an apostrophe.",
    "schema": {"type": "boolean", "default": False},
}
CSV_PARAMETERS: list[dict[str, Any]] = [
    {"name": name, "in": "query", "required": False, "description": description, "schema": {"type": "string"}}
    for name, description in {
        **{name: TEXTS[name] for name in ("delimiter", "decimal", "encoding", "sheet", "missing_values")},
        "target": "A column of labels in CSV, which is left out.",
    }.items()
] + [RAW]
TableQuery: TypeAlias = Annotated[ReadOptions, Depends(get_options)]
