"""Apache Arrow streams and Parquet files."""

from __future__ import annotations

import base64
import binascii
import io
import itertools
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

import melm.tables.table
from melm.data.blocks import blocks
from melm.tables.stack import Stack
from service.errors import SHOWN_ERRORS, FieldError, Invalid, Malformed, TooLarge, escape
from service.intake.formats.parquet_pages import check_footer, check_pages
from service.intake.formats.table import (
    LABEL_KINDS,
    SPILL_BYTES,
    Answer,
    Array,
    Codec,
    Content,
    Limits,
    Table,
    as_features,
    as_labels,
    check_lengths,
    check_size,
)

MESSAGE_HEADER = 2  # field numbers in Arrow's Message.fbs
RECORD_BATCH_COMPRESSION = 3
DICTIONARY_DATA, DICTIONARY_IS_DELTA = 1, 2
SCHEMA_FIELDS, SCHEMA_METADATA = 1, 2  # and in Schema.fbs
FIELD_NAME, FIELD_KIND, FIELD_TYPE, FIELD_CHILDREN, FIELD_METADATA = 0, 2, 3, 5, 6
PAIR_KEY, PAIR_VALUE = 0, 1
TIMESTAMP, TIMESTAMP_ZONE = 10, 1  # the kind of a field, and the one text in any of them
REFERENCE_BYTES = 4
MAX_NUMBER_BYTES = 32  # of a decimal with 76 digits, the longest there are


def decode_stream(body: Content, limits: Limits, target: str | None = None) -> Table:
    """A table out of an IPC stream."""
    return to_table(read_stream(body, limits), limits, target)


def read_stream(body: Content, limits: Limits) -> Any:
    """The columns of an IPC stream."""
    try:
        batches = []
        source = pa.py_buffer(body)
        n_bytes, seen = 0, set[tuple[int, ...]]()
        for message in messages(source):
            check_message(message)
        with pa.ipc.open_stream(source) as reader:
            check_size(0, len(reader.schema.names), limits)
            check_types(reader.schema)
            for batch in reader:
                batch.validate(full=True)
                batches.append(batch)
                n_bytes += held_bytes(batch, seen)
                if n_bytes > limits.bytes:  # which the body is not: columns share their bytes
                    raise TooLarge(limits.bytes)
            return pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"the body is not an Arrow stream: {first_line(error)}") from None


def held_bytes(batch: Any, seen: set[tuple[int, ...]]) -> int:
    """The bytes of each column, counted for each that shares them; those of a dictionary once for all its batches."""
    n_bytes = 0
    for index, column in enumerate(batch):
        values = column
        if pa.types.is_dictionary(column.type):
            values = column.dictionary
            place = (index, *(0 if buffer is None else buffer.address for buffer in values.buffers()))
            if place in seen:
                continue
            seen.add(place)
        n_bytes += values.nbytes
    return n_bytes


def messages(source: Any) -> Iterator[Any]:
    """The messages of a stream, unparsed."""
    reader = pa.ipc.MessageReader.open_stream(source)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def check_message(message: Any) -> None:
    """Refuse what nothing bounds: compressed buffers, dictionaries of which every batch gets a longer copy, and schemas
    that refer to the same field or text again and again.
    """
    metadata = message.metadata.to_pybytes()
    header = table_field(metadata, struct.unpack_from("<I", metadata)[0], MESSAGE_HEADER)
    if message.type == "schema" and header is not None:
        sizes = itertools.accumulate(schema_sizes(metadata, header, SCHEMA_FIELDS, SCHEMA_METADATA))
        if any(size > len(metadata) for size in sizes):
            raise Malformed("the body has an Arrow schema that repeats itself")
    if message.type == "dictionary" and header is not None:
        if (place := field_place(metadata, header, DICTIONARY_IS_DELTA)) is not None and metadata[place]:
            raise Malformed("the Arrow stream has dictionaries that grow; send each of them whole")
        header = table_field(metadata, header, DICTIONARY_DATA)
    elif message.type != "record batch":
        return
    if header is None or table_field(metadata, header, RECORD_BATCH_COMPRESSION) is not None:
        raise Malformed("the Arrow stream is compressed; send it uncompressed")


def schema_sizes(data: bytes, table: int, fields: int, metadata: int) -> Iterator[int]:
    """The least bytes of each thing that a schema or a field refers to, with all that is below it."""
    for pair in vector(data, table_field(data, table, metadata)):
        yield from (REFERENCE_BYTES, text_size(data, pair, PAIR_KEY), text_size(data, pair, PAIR_VALUE))
    for field in vector(data, table_field(data, table, fields)):
        yield from (REFERENCE_BYTES, text_size(data, field, FIELD_NAME))
        kind, place = table_field(data, field, FIELD_TYPE), field_place(data, field, FIELD_KIND)
        if kind is not None and place is not None and data[place] == TIMESTAMP:
            yield text_size(data, kind, TIMESTAMP_ZONE)
        yield from schema_sizes(data, field, FIELD_CHILDREN, FIELD_METADATA)


def vector(data: bytes, at: int | None) -> Iterator[int]:
    """Where the tables of a FlatBuffers vector begin."""
    n_tables = 0 if at is None else struct.unpack_from("<I", data, at)[0]
    for place in range((at or 0) + 4, (at or 0) + 4 + 4 * n_tables, 4):
        yield place + struct.unpack_from("<I", data, place)[0]


def text_size(data: bytes, table: int, field: int) -> int:
    """The length of a text in a FlatBuffers table."""
    at = table_field(data, table, field)
    return 0 if at is None else int(struct.unpack_from("<I", data, at)[0])


def field_place(data: bytes, table: int, field: int) -> int | None:
    """Where a FlatBuffers table keeps a field; None when it is not set."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    entry = 4 + 2 * field
    offset = struct.unpack_from("<H", data, vtable + entry)[0] if entry < size else 0
    return table + offset if offset else None


def table_field(data: bytes, table: int, field: int) -> int | None:
    """Where that begins which the field of a FlatBuffers table refers to; None when the field is not set."""
    place = field_place(data, table, field)
    return None if place is None else place + struct.unpack_from("<I", data, place)[0]


def decode_parquet(body: Content, limits: Limits, target: str | None = None) -> Table:
    """A table out of a Parquet file."""
    return to_table(read_parquet(body, limits), limits, target)


def read_parquet(body: Content, limits: Limits) -> Any:
    """The columns of a Parquet file, of which the uncompressed size of all pages counts against the limit.

    Text stays encoded by a dictionary, as it is stored: a long value may be repeated in every row at no cost.
    """
    try:
        for schema in check_footer(body, limits):
            check_message(pa.ipc.read_message(base64.b64decode(schema, validate=True)))
        source = pa.parquet.ParquetFile(pa.BufferReader(body))
        metadata = source.metadata
        check_size(metadata.num_rows, metadata.num_columns, limits)
        check_types(source.schema_arrow)
        check_storage(metadata.schema, source.schema_arrow)
        check_pages(body, metadata, limits)
        check_names(source.schema_arrow.names)  # of two columns of one name, the other one would be written out
        texts = [field.name for field in source.schema_arrow if is_text(field.type)]
        table = pa.parquet.ParquetFile(pa.BufferReader(body), read_dictionary=texts).read()
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, binascii.Error, struct.error) as error:
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
        if not is_number(kind):
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


def as_table(found: Any, limits: Limits, target: str | None) -> melm.tables.table.Table:
    """Columns of numbers and of text, with gaps. The labels are text, whatever they are."""
    names = found.column_names
    check_size(found.num_rows, len(names), limits)
    check_names(names)
    kinds = {name: value_type(found.schema.field(name).type) for name in names}
    number_names = tuple(name for name in names if is_number(kinds[name]) and name != target)
    texts: dict[str, Any] = {}
    errors = []
    for name in names:
        if name not in number_names:
            try:
                texts[name] = encode_text(found[name])
            except pa.ArrowException:
                errors.append(FieldError(f"/{name}", f"holds {kinds[name]} values", "send numbers or text"))
    if errors:
        raise Invalid(errors)
    numbers = Stack(len(number_names), np.float64, SPILL_BYTES)
    for block in blocks(found.num_rows, 8 * len(number_names)):
        rows = found.slice(block.start, block.stop - block.start)
        columns = [rows[name].cast(kinds[name]).cast(pa.float64(), safe=False).to_numpy() for name in number_names]
        numbers.append(np.array(columns).reshape(len(columns), len(rows)).T)
    codes = np.empty((found.num_rows, len(texts)), np.int32)
    for index, (values, _) in enumerate(texts.values()):
        codes[:, index] = values
    categories = tuple(values for _, values in texts.values())
    return melm.tables.table.Table(tuple(names), number_names, numbers.finish(), tuple(texts), codes, categories)


def value_type(kind: Any) -> Any:
    """What a column holds, whether or not it is stored as codes."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: Any) -> bool:
    """Whether a column holds numbers."""
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Whether a column holds text, or bytes that may be text."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def check_names(names: list[str]) -> None:
    """Refuse columns that cannot be told apart."""
    if len(set(names)) < len(names):
        raise Invalid([FieldError("", "columns are named twice", "give every column a name of its own")])


def check_types(schema: Any) -> None:
    """Refuse lists and objects, and columns stored as views and runs, whose size says nothing about what they hold."""
    errors = []
    for field in schema:
        kind = value_type(field.type)
        if not (is_text(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            errors.append(FieldError(f"/{escape(field.name)}", f"holds {kind} values", "send numbers or text"))
    if errors:
        raise Invalid(errors[:SHOWN_ERRORS])


def check_storage(stored: Any, schema: Any) -> None:
    """Refuse numbers stored as bytes of any length: each row, and each gap, takes as many as the longest may have."""
    errors = []
    for index, field in enumerate(schema):
        kind, n_bytes = stored.column(index).physical_type, stored.column(index).length
        has_any_length = kind == "BYTE_ARRAY" and not is_text(value_type(field.type))
        if has_any_length or (kind == "FIXED_LEN_BYTE_ARRAY" and n_bytes > MAX_NUMBER_BYTES):
            detail = f"holds {field.type} values stored as bytes of any length"
            errors.append(FieldError(f"/{escape(field.name)}", detail, "send numbers or text"))
    if errors:
        raise Invalid(errors[:SHOWN_ERRORS])


def encode_text(column: Any) -> tuple[melm.tables.table.Codes, tuple[str, ...]]:
    """Codes into the sorted values of a column, as text. Values that are repeated are not written out."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    encoded = column.unify_dictionaries().combine_chunks()
    values = encoded.dictionary.cast(pa.string()).dictionary_encode()  # a dictionary may hold gaps, and values twice
    codes = values.indices.take(encoded.indices).fill_null(melm.tables.table.NO_CATEGORY).to_numpy(zero_copy_only=False)
    return melm.tables.table.sort_categories(codes, values.dictionary.to_pylist())


def labels(column: Any) -> Array:
    """A label column as text, whole numbers, numbers or booleans."""
    if is_number(value_type(column.type)):
        return as_labels(column.cast(value_type(column.type)).to_numpy())
    try:
        codes, values = encode_text(column)
    except pa.ArrowException:
        raise Invalid([FieldError("/y", f"holds {column.type} values", LABEL_KINDS)]) from None
    check_lengths(values)
    return np.array(values, np.str_)[codes]


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
