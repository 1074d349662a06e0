"""Bodies with tables: columns of numbers and text with missing values, in the media types that have both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from melm.tables.options import ReadOptions
from melm.tables.roles import Role
from melm.tables.table import Cell, Table
from melm.typing import AnyArray
from service.errors import FieldError, Invalid, escape
from service.intake.formats import CODECS, Content, Limits, arrow, csv, excel, json
from service.intake.formats.table import cell_errors, check_size, labels_of
from service.intake.sandbox import decoder


@dataclass(frozen=True)
class JsonTable:
    """A table, and the other fields of a JSON body."""

    table: Table
    y: AnyArray | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # roles
    fields: dict[str, Any] = field(default_factory=dict)  # name, metadata


class RowsBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows as objects."""

    rows: list[dict[str, int | float | str | bool | None]]
    y: list[str | int | float | bool] | None = None
    columns: dict[str, str] | None = None
    name: str | None = None
    metadata: dict[str, str] | None = None


def read_cells(media_type: str, body: Content, limits: Limits, options: ReadOptions) -> JsonTable | None:
    """The table of a body; None where the body is a matrix, which has no columns of text."""
    reader = READERS.get(media_type)
    return None if reader is None else reader(body, limits, options)


def read_csv(body: Content, limits: Limits, options: ReadOptions) -> JsonTable:
    """CSV; its dialect is detected."""
    return JsonTable(csv.read_table(body, limits, options))


def read_excel(body: Content, limits: Limits, options: ReadOptions) -> JsonTable:
    """A sheet of a workbook, by the reader of CSV."""
    sheet, written = excel.open_sheet(body, limits, options)
    return read_csv(sheet, limits, written)


def read_json(body: Content, limits: Limits, options: ReadOptions) -> JsonTable | None:
    """Rows as objects. A column that a row leaves out is a missing value."""
    try:
        parsed = msgspec.json.decode(body, type=RowsBody)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        loose = json.parse(body)
        if not isinstance(loose, dict) or "rows" not in loose or "X" in loose:
            return None
        raise Invalid(row_errors(loose)) from None
    names = list(dict.fromkeys(name for row in parsed.rows for name in row))
    check_size(len(parsed.rows), len(names), limits)
    columns: dict[str, list[Cell]] = {name: [row.get(name) for row in parsed.rows] for name in names}
    given = dict(options.columns) | (parsed.columns or {})
    text = set()
    for name, cells in columns.items():
        role = Role.TARGET if name == options.target else given.get(name, options.others)
        is_given = role is not None and role != Role.INFO
        if role != Role.NUMERIC if is_given else any(isinstance(cell, str | bool) for cell in cells):
            text.add(name)
    errors = cell_errors(
        (
            (row, name, repr(cell)[:40], "is not a number")
            for name, cells in columns.items()
            if name not in text
            for row, cell in enumerate(cells)
            if isinstance(cell, str | bool)
        ),
        "/rows",
        "send a number, or null for a missing value",
    )
    if errors:
        raise Invalid(errors)
    fields = {name: getattr(parsed, name) for name in ("name", "metadata") if getattr(parsed, name) is not None}
    y = None if parsed.y is None else labels_of(parsed.y)
    return JsonTable(Table.of_cells(columns, text), y, parsed.columns or {}, fields)


def row_errors(body: dict[str, Any]) -> list[FieldError]:
    """Everything that is wrong with a decoded body that should contain rows as objects."""
    known = RowsBody.__struct_fields__
    errors = [
        FieldError(f"/{escape(name)}", "is not a known field", f"known: {', '.join(known)}")
        for name in body
        if name not in known
    ]
    rows = body["rows"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        errors.append(FieldError("/rows", "is not a list of objects", 'send {"rows": [{"column": value, ...}, ...]}'))
    else:
        errors += cell_errors(wrong_cells(rows), "/rows", "send null for a missing value")
    for name in known[1:]:
        try:
            msgspec.convert({"rows": [], name: body.get(name)}, RowsBody)
        except msgspec.ValidationError as error:
            errors.append(FieldError(f"/{name}", str(error)))
    return errors or [FieldError("", "cannot be read as a table")]


def wrong_cells(rows: list[dict[str, Any]]) -> Iterator[tuple[int, str, str, str]]:
    """Cells that are not numbers, text or null."""
    for index, row in enumerate(rows):
        for name, cell in row.items():
            is_scalar = cell is None or isinstance(cell, str | int | float)
            if not is_scalar or (isinstance(cell, float) and not np.isfinite(cell)):
                yield index, name, repr(str(cell)[:40]), "is not a number, text or null"


def read_arrow(reader: str) -> Callable[[Content, Limits, ReadOptions], JsonTable]:
    """A reader of a format that the sandbox decodes. Labels are read as text, whatever their type."""

    def read(body: Content, limits: Limits, options: ReadOptions) -> JsonTable:
        return JsonTable(decoder.decode(reader, body, limits, () if options.target is None else (options.target,)))

    return read


READERS: dict[str, Callable[[Content, Limits, ReadOptions], JsonTable | None]] = {
    CODECS["application/json"].media_type: read_json,
    CODECS["text/csv"].media_type: read_csv,
    arrow.STREAM.media_type: read_arrow("arrow"),
    arrow.PARQUET.media_type: read_arrow("parquet"),
    excel.EXCEL.media_type: read_excel,
}
