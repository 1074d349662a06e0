"""Parameters in the query that say how a table is to be read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Depends, Query
from starlette.datastructures import QueryParams

from melm.tables.dialect import ENCODINGS
from melm.tables.options import ReadOptions
from service.errors import FieldError, Invalid
from service.intake.upload import parse_roles


def get_options(
    target: Annotated[str | None, Query(description="The column of labels of a table.")] = None,
    columns: Annotated[
        str | None,
        Query(
            description='Roles of columns as a JSON object, such as `{"age": "numeric", "q*": "ignore"}`; a name may '
            "be a pattern."
        ),
    ] = None,
    missing: Annotated[
        Literal["impute", "refuse"],
        Query(description="Gaps take the median and a flag, or a category of their own; or they are refused."),
    ] = "impute",
    drop_missing: Annotated[bool, Query(description="Leave out rows that lack a feature.")] = False,
    unlabeled: Annotated[
        Literal["drop", "refuse"], Query(description="What becomes of rows without a label.")
    ] = "drop",
    rare_classes: Annotated[
        Literal["refuse", "drop", "merge"],
        Query(description="What becomes of classes of a single row: they are left out, or made one called `other`."),
    ] = "refuse",
    day_first: Annotated[
        bool | None, Query(description="Whether 03/04/2024 is the third of April, where no date of the file tells.")
    ] = None,
    delimiter: Annotated[
        str | None, Query(description="What separates the cells of CSV.", min_length=1, max_length=1)
    ] = None,
    decimal: Annotated[Literal[".", ","] | None, Query(description="What stands before decimals in CSV.")] = None,
    encoding: Annotated[str | None, Query(description=f"Of CSV: {', '.join(ENCODINGS)}.")] = None,
    sheet: Annotated[str | None, Query(description="The sheet of a workbook; the first with cells by default.")] = None,
    missing_values: Annotated[
        list[str], Query(description="What stands for a gap in CSV, beside NA, NaN, null, ? and nothing.")
    ] = [],  # noqa: B006 - FastAPI copies it
) -> ReadOptions:
    """How a table is to be read."""
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
    """How CSV is written, out of a query that no dependency has read."""
    return ReadOptions(
        delimiter=query.get("delimiter"),
        decimal=query.get("decimal"),
        encoding=query.get("encoding"),
        sheet=query.get("sheet"),
        missing_values=tuple(query.getlist("missing_values")),
        target=query.get("target"),
    )


def parse_raw(query: QueryParams) -> bool:
    """Whether text in an answer of CSV is to stay as it is."""
    value = query.get("raw", "false")
    if value not in ("true", "false"):
        raise Invalid([FieldError("/query/raw", f"raw is true or false, not {value[:40]!r}")])
    return value == "true"


RAW: dict[str, Any] = {
    "name": "raw",
    "in": "query",
    "required": False,
    "description": "Leave text in CSV as it is. Otherwise cells that a spreadsheet would take for a formula, which "
    "begin with `=`, `+`, `-`, `@`, a tab or a carriage return, get an apostrophe before them.",
    "schema": {"type": "boolean", "default": False},
}
CSV_PARAMETERS: list[dict[str, Any]] = [
    {"name": name, "in": "query", "required": False, "description": description, "schema": {"type": "string"}}
    for name, description in {
        "target": "A column of labels in CSV, which is left out.",
        "delimiter": "What separates the cells of CSV.",
        "decimal": "What stands before decimals in CSV.",
        "encoding": f"Of CSV: {', '.join(ENCODINGS)}.",
        "sheet": "The sheet of a workbook; the first with cells by default.",
        "missing_values": "What stands for a gap in CSV.",
    }.items()
] + [RAW]
TableQuery: TypeAlias = Annotated[ReadOptions, Depends(get_options)]
