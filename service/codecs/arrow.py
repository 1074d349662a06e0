"""Apache Arrow streams and Parquet files."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

import melm.table
from service.codecs.table import Answer, Array, Codec, Limits, Table, as_features, as_labels, check_size
from service.errors import FieldError, Invalid, Malformed, TooLarge

RECORD_BATCH_COMPRESSION = 3  # field numbers in Arrow's Message.fbs
MESSAGE_HEADER = 2


def decode_stream(body: bytes, limits: Limits, target: str | None = None) -> Table:
    """A table out of an IPC stream."""
    return to_table(read_stream(body, limits), limits, target)


def read_stream(body: bytes, limits: Limits) -> Any:
    """The columns of an IPC stream. Compressed buffers are refused: nothing bounds what they decompress to."""
    try:
        batches = []
        source = pa.py_buffer(body)
        if any(is_compressed(message) for message in messages(source)):
            raise Malformed("the Arrow stream is compressed; send it uncompressed")
        with pa.ipc.open_stream(source) as reader:
            check_size(0, len(reader.schema.names), limits)
            for batch in reader:
                batch.validate(full=True)
                batches.append(batch)
            return pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, struct.error) as error:
        raise Malformed(f"the body is not an Arrow stream: {first_line(error)}") from None


def messages(source: Any) -> Iterator[Any]:
    """The messages of a stream, unparsed."""
    reader = pa.ipc.MessageReader.open_stream(source)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def is_compressed(message: Any) -> bool:
    """Whether a record batch says that its buffers are compressed."""
    if message.type != "record batch":
        return False
    metadata = message.metadata.to_pybytes()
    header = table_field(metadata, struct.unpack_from("<I", metadata)[0], MESSAGE_HEADER)
    return header is None or table_field(metadata, header, RECORD_BATCH_COMPRESSION) is not None


def table_field(data: bytes, table: int, field: int) -> int | None:
    """Where a FlatBuffers table keeps what its field refers to; None when the field is not set."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    entry = 4 + 2 * field
    offset = struct.unpack_from("<H", data, vtable + entry)[0] if entry < size else 0
    return table + offset + struct.unpack_from("<I", data, table + offset)[0] if offset else None


def decode_parquet(body: bytes, limits: Limits, target: str | None = None) -> Table:
    """A table out of a Parquet file."""
    return to_table(read_parquet(body, limits), limits, target)


def read_parquet(body: bytes, limits: Limits) -> Any:
    """The columns of a Parquet file, whose declared uncompressed size counts against the limit."""
    try:
        source = pa.parquet.ParquetFile(pa.BufferReader(body))
        metadata = source.metadata
        check_size(metadata.num_rows, metadata.num_columns, limits)
        if sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups)) > limits.bytes:
            raise TooLarge(limits.bytes)
        return source.read()
    except (pa.ArrowException, OSError) as error:
        raise Malformed(f"the body is not a Parquet file: {first_line(error)}") from None


def to_table(table: Any, limits: Limits, target: str | None) -> Table:
    """Columns side by side as (n, d); the column `target` as labels."""
    names = table.column_names
    check_size(table.num_rows, len(names), limits)
    errors = []
    if target is not None and target not in names:
        errors.append(FieldError("", f"there is no column {target!r}", f"columns: {', '.join(names[:50])}"))
    if len(set(names)) < len(names):
        errors.append(FieldError("", "columns are named twice", "give every column a name of its own"))
    if errors:
        raise Invalid(errors)
    features = [name for name in names if name != target]
    for name in features:
        kind = table.schema.field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            errors.append(FieldError(f"/{name}", f"holds {kind} values, not numbers", "encode text columns as numbers"))
    errors += [
        FieldError(f"/{name}", f"{table[name].null_count} values are missing", "fill them in")
        for name in names
        if table[name].null_count
    ]
    if errors:
        raise Invalid(errors)
    columns = [table[name].to_numpy() for name in features]
    X = as_features(np.column_stack(columns) if columns else np.empty((table.num_rows, 0)), limits)
    return Table(X, None if target is None else labels(table[target]), tuple(features))


def as_table(found: Any, limits: Limits, target: str | None) -> melm.table.Table:
    """Columns of numbers and of text, with gaps. The labels are text, whatever they are."""
    names = found.column_names
    check_size(found.num_rows, len(names), limits)
    if len(set(names)) < len(names):
        raise Invalid([FieldError("", "columns are named twice", "give every column a name of its own")])
    columns: dict[str, Any] = {}
    errors = []
    for name in names:
        column = found[name].combine_chunks()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        try:
            if is_number and name != target:
                columns[name] = column.cast(kind).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            else:
                columns[name] = melm.table.encode_text(column.cast(kind).cast(pa.string()).to_pylist())
        except pa.ArrowException:
            errors.append(FieldError(f"/{name}", f"holds {kind} values", "send numbers or text"))
    if errors:
        raise Invalid(errors)
    return melm.table.Table.of_columns(columns, found.num_rows)


def labels(column: Any) -> Array:
    """A label column as text, whole numbers, numbers or booleans."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = column.to_numpy()
    return as_labels(values.astype(np.str_) if values.dtype.kind == "O" else values)


def first_line(error: Exception) -> str:
    """The part of a message that a reader of the answer can use."""
    return str(error).partition("\n")[0][:200]


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
