"""Apache Arrow streams and Parquet files: written here, and read in the sandbox."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

import melm.tables.table
from melm.tables.roles import RolesError, labels_of
from service.errors import FieldError, Invalid, escape
from service.intake.formats.table import Answer, Codec, Content, Limits, Table, as_features
from service.intake.sandbox import decoder


def decode_stream(body: Content, limits: Limits, target: str | None = None) -> Table:
    """The matrix in an IPC stream."""
    return as_matrix(decoder.decode("arrow", body, limits, () if target is None else (target,)), limits, target)


def decode_parquet(body: Content, limits: Limits, target: str | None = None) -> Table:
    """The matrix in a Parquet file."""
    return as_matrix(decoder.decode("parquet", body, limits, () if target is None else (target,)), limits, target)


def as_matrix(found: melm.tables.table.Table, limits: Limits, target: str | None) -> Table:
    """Columns of numbers side by side; the column `target` as labels."""
    names = found.names
    errors = []
    if target is not None and target not in names:
        errors.append(FieldError("", f"there is no column {target!r}", f"columns: {', '.join(names[:50])}"))
    features = tuple(name for name in names if name != target)
    for name in features:
        if found.is_text(name):
            errors.append(FieldError(f"/{escape(name)}", "holds text, not numbers", "encode text columns as numbers"))
        elif n_missing := int(np.count_nonzero(found.is_missing(name))):
            errors.append(FieldError(f"/{escape(name)}", f"{n_missing} values are missing", "fill them in"))
    if errors:
        raise Invalid(errors)
    try:
        labels = None if target is None else labels_of(found, target)
    except RolesError as error:
        raise Invalid([FieldError("/y", str(error))]) from None
    return Table(as_features(found.numbers, limits), labels, features)


def as_arrow(answer: Answer) -> Any:
    """The answer row by row."""
    return pa.table(dict(zip(answer.columns, answer.row_wise(), strict=True)))


def encode_stream(answer: Answer) -> bytes:
    """An uncompressed IPC stream."""
    table = as_arrow(answer)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def encode_parquet(answer: Answer) -> bytes:
    """A Parquet file."""
    sink = io.BytesIO()
    pa.parquet.write_table(as_arrow(answer), sink)
    return sink.getvalue()


STREAM = Codec("application/vnd.apache.arrow.stream", decode_stream, encode_stream)
PARQUET = Codec("application/vnd.apache.parquet", decode_parquet, encode_parquet)
