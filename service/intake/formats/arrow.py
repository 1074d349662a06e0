"""Apache Arrow streams and Parquet files, written; they are read in the sandbox."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from service.intake.formats.table import Codec, NamedArrays


def as_arrow(answer: NamedArrays) -> Any:
    """The answer row by row."""
    return pa.table(dict(zip(answer.columns, answer.row_wise(), strict=True)))


def encode_stream(answer: NamedArrays) -> bytes:
    """An uncompressed IPC stream."""
    table = as_arrow(answer)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def encode_parquet(answer: NamedArrays) -> bytes:
    """A Parquet file."""
    sink = io.BytesIO()
    pa.parquet.write_table(as_arrow(answer), sink)
    return sink.getvalue()


STREAM = Codec("application/vnd.apache.arrow.stream", encode_stream)
PARQUET = Codec("application/vnd.apache.parquet", encode_parquet)
