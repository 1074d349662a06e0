"""JSON: decoded by a schema, each row packed as float64 before the next one is parsed.

The fast path has no useful error messages. If it fails, the body is decoded a second time without the schema, to report
all cells that are wrong. Parsers that decode into float64 without Python objects were measured and left out: pysimdjson
with the checks that it needs gains an eighth of this decoder's time, and cysimdjson is not safe.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from json import dumps, loads
from typing import Any

import msgspec
import numpy as np

from melm.tables.problem import place_of
from melm.typing import AnyArray
from service.errors import FieldError, Invalid, Malformed, grouped
from service.intake.formats.table import (
    Codec,
    Content,
    Limits,
    Matrices,
    NamedArrays,
    cell_errors,
    check_size,
    labels_of,
)


class Row:
    """A row that has been packed."""


PACKED = Row()


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Rows as lists (`X`) or objects (`rows`), labels, name and metadata."""

    X: list[Row] | None = None
    rows: list[dict[str, float]] | None = None
    y: list[str | int | float | bool] | None = None
    feature_names: list[str] | None = None
    name: str | None = None
    metadata: dict[str, str] | None = None


FIELDS = Body.__struct_fields__
HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
TEXT_FIELDS = {"feature_names": "a list of text", "name": "text", "metadata": "an object of text values"}


class RowPacker:
    """Packs rows into one buffer, one at a time, so that the Python numbers of a row stay in the processor's cache."""

    def __init__(self, may_have_booleans: bool) -> None:
        self.cells = bytearray()
        self.n_columns = 0
        self._pack: Callable[..., bytes] | None = None
        self._may_have_booleans = may_have_booleans

    def __call__(self, kind: type[Row], cells: Any) -> Row:
        """Pack the next row; raises if it is not a list of numbers, or not as long as the first."""
        if type(cells) is not list:
            raise TypeError("a row is a list")
        if self._may_have_booleans and bool in map(type, cells):  # in Python a bool is an int
            raise TypeError("a boolean is no number")
        if self._pack is None:
            self.n_columns = len(cells)
            self._pack = struct.Struct(f"{self.n_columns}d").pack
        self.cells += self._pack(*cells)
        return PACKED


def decode(body: Content, limits: Limits, pointer: str = "") -> Matrices:
    """The table in `{"X": ..., "y"?: ...}` or `{"rows": ..., "y"?: ...}`."""
    has_no_booleans = isinstance(body, bytes) and b"t" not in body and b"f" not in body
    packer = RowPacker(may_have_booleans=not has_no_booleans)
    try:
        parsed = msgspec.json.Decoder(Body, dec_hook=packer).decode(body)
    except (msgspec.ValidationError, OverflowError, struct.error):
        raise Invalid(find_errors(parse(body), pointer)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        loose = parse(body)  # raises Malformed, except for NaN and Infinity, for which there is a better message
        raise Invalid(find_errors(loose, pointer)) from None
    return to_table(parsed, packer, limits, pointer)


def parse(body: Content) -> Any:
    """Any JSON value. NaN and Infinity, which are not JSON but which many programs write, become floats."""
    try:
        value = loads(bytes(body))
        if HALF_CHARACTER.search(body):
            dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded as UTF-8
        return value
    except RecursionError:
        raise Malformed("the JSON is nested too deeply") from None
    except ValueError as error:  # covers wrong syntax, wrong UTF-8 and numbers of absurd length
        raise Malformed(f"the body is not JSON: {error}") from None


def to_table(parsed: Body, packer: RowPacker, limits: Limits, pointer: str = "") -> Matrices:
    """The arrays of a parsed body."""
    names = parsed.feature_names
    if parsed.X is not None and parsed.rows is None:
        X = by_position(len(parsed.X), packer, limits)
    elif parsed.rows is not None and parsed.X is None:
        names = names or (list(parsed.rows[0]) if parsed.rows else [])
        X = by_name(parsed.rows, names, limits, f"{pointer}/rows")
    else:
        raise Invalid([FieldError(pointer, "exactly one of X and rows is needed", 'send {"X": [[...], ...]}')])
    fields = {field: getattr(parsed, field) for field in ("name", "metadata") if getattr(parsed, field) is not None}
    y = None if parsed.y is None else labels_of(parsed.y, f"{pointer}/y")
    return Matrices(X, y, None if names is None else tuple(names), fields)


def by_position(n_rows: int, packer: RowPacker, limits: Limits) -> AnyArray:
    """Packed rows as (n, d) float64."""
    check_size(n_rows, packer.n_columns, limits)
    cells = np.frombuffer(packer.cells)
    if cells.size != n_rows * packer.n_columns:
        raise Malformed("the body has the field X more than once")
    return cells.reshape(n_rows, packer.n_columns)


def by_name(rows: list[dict[str, float]], names: list[str], limits: Limits, pointer: str) -> AnyArray:
    """Rows as objects, to (n, d) float64 in the order of `names`."""
    check_size(len(rows), len(names), limits)
    known = set(names)
    errors = grouped(
        (names_wrong, FieldError(f"{pointer}/{index}", names_wrong))
        for index, row in enumerate(rows)
        if (names_wrong := describe_names(known - row.keys(), row.keys() - known))
    )
    if errors:
        raise Invalid(errors)
    return np.array([[row[name] for name in names] for row in rows], np.float64).reshape(len(rows), len(names))


def describe_names(missing: set[str], unknown: set[str]) -> str:
    """Which features a row lacks and which it should not have."""
    named = {"missing": missing, "unknown": unknown}
    return "; ".join(f"{label}: {', '.join(sorted(names))}" for label, names in named.items() if names)


def ragged(rows: Sequence[Sequence[Any]], n_columns: int, pointer: str) -> Iterator[tuple[str, FieldError]]:
    """The rows that are not as long as the first."""
    fix = "make all rows equally long"
    for index, row in enumerate(rows):
        if len(row) != n_columns:
            detail = f"{place_of(index)} has {len(row)} values, {place_of(0)} has {n_columns}"
            yield "ragged", FieldError(f"{pointer}/{index}", detail, fix)


def find_errors(value: Any, pointer: str = "") -> list[FieldError]:
    """Everything that is wrong with a decoded value that should be a `Body`. Slow; only called if there are errors."""
    if not isinstance(value, dict):
        return [FieldError(pointer, "is not an object", 'send {"X": [[...], ...]}')]
    errors = [
        FieldError(f"{pointer}/{field}", "is not a known field", f"known: {', '.join(FIELDS)}")
        for field in value
        if field not in FIELDS
    ]
    for field, kinds, noun in (("X", list, "rows"), ("rows", dict, "objects")):
        rows = value.get(field)
        if rows is None:
            continue
        if not isinstance(rows, list) or not all(isinstance(row, kinds) for row in rows):
            errors.append(FieldError(f"{pointer}/{field}", f"is not a list of {noun}", 'send {"X": [[...], ...]}'))
            continue
        if kinds is list:
            errors += grouped(ragged(rows, len(rows[0]) if rows else 0, f"{pointer}/{field}"))
        cells = (
            (index, column, *wrong)
            for index, row in enumerate(rows)
            for column, cell in (enumerate(row) if kinds is list else row.items())
            if (wrong := wrong_number(cell))
        )
        errors += cell_errors(cells, f"{pointer}/{field}", "send a finite number")
    labels = value.get("y")
    if isinstance(labels, list):
        errors += grouped(
            (what, FieldError(f"{pointer}/y/{index}", f"{place_of(index)}: {what}", "send text, a number or a boolean"))
            for index, label in enumerate(labels)
            if (what := wrong_label(label))
        )
    elif labels is not None:
        errors.append(FieldError(f"{pointer}/y", "is not a list of labels", "send one label per row"))
    for field, example in TEXT_FIELDS.items():
        try:
            msgspec.convert({field: value.get(field)}, Body)
        except msgspec.ValidationError:
            errors.append(FieldError(f"{pointer}/{field}", f"is not {example}"))
    return errors or [FieldError(pointer, "cannot be read as a table")]


def wrong_number(cell: Any) -> tuple[str, str] | None:
    """A cell that should be a number, as text, and what is wrong with it; None if it is valid."""
    if cell is None:
        return "the value", "is missing"
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return repr(str(cell)[:40]), "is not a number"
    try:
        return None if math.isfinite(float(cell)) else (str(cell), "is not finite")
    except OverflowError:
        return "the number", "is too large"


def wrong_label(label: Any) -> str | None:
    """What is wrong with a label."""
    if label is None:
        return "the label is missing"
    if isinstance(label, float) and not math.isfinite(label):
        return f"the label {label} is not finite"
    return None if isinstance(label, str | int | float | bool) else "the label is a list or an object"


def encode(answer: NamedArrays) -> bytes:
    """All arrays of the response, with the id of the model."""
    arrays = {name: array.tolist() for name, array in answer.arrays.items()}
    warnings = {"warnings": answer.warnings} if answer.warnings else {}
    return msgspec.json.encode({"model_id": answer.model_id, **arrays, **warnings})


JSON = Codec("application/json", encode, decode)
