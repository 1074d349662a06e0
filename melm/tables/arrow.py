"""Arrow streams, Parquet files, and tables in memory of pandas, polars and pyarrow.

The libraries that read these files are written in languages without memory safety. The service decodes untrusted files
in a separate process (`service.intake.sandbox`); trusted files are read in the process of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from melm.tables.table import NO_CATEGORY, Cell, Codes, Table, as_text, sort_categories
from melm.typing import Array

Buffer: TypeAlias = bytes | memoryview
CheckSize: TypeAlias = Callable[[int, int], None]  # of rows and columns; raises where there are too many
MakeRoom: TypeAlias = Callable[[tuple[int, int]], Array]  # a matrix of float64 to write to

BLOCK_BYTES = 4 << 20
FILE_MARK = b"ARROW1"  # an IPC file begins with it, a stream does not
EXACT = 2**53  # larger whole numbers are not all exact in float64
MAX_TEXT_BYTES = 64 << 20  # of one text in the footer of a Parquet file
MAX_ELEMENTS = 1_000_000  # of one list there
MIDNIGHT = " 00:00:00"  # a column that has it in every row is written as dates without a time
FRACTION = r"(\.[0-9]*?)0+$"  # of a second, with zeros behind it


class ArrowError(ValueError):
    """The bytes are no such file, or a column cannot be read. `problems` lists column (None: all), fault and fix."""

    def __init__(self, problems: list[tuple[str | None, str, str | None]]) -> None:
        super().__init__(" ".join(f"{detail}." for _, detail, _ in problems))
        self.problems = problems


class NotArrow(ArrowError):
    """Bytes that are no such file."""

    def __init__(self, kind: str, error: Exception) -> None:
        super().__init__([(None, f"is not {kind}: {str(error).partition(chr(10))[0][:200]}", None)])


def any_size(n_rows: int, n_columns: int) -> None:
    """No limit."""


def new_matrix(shape: tuple[int, int]) -> Array:
    """An uninitialized matrix in the memory of this process."""
    return np.empty(shape)


def read_stream(
    data: Buffer, text: Collection[str] = (), check_size: CheckSize = any_size, make_room: MakeRoom = new_matrix
) -> Table:
    """Read an Arrow IPC stream or file (Feather). `text` names columns that are always read as text, such as labels."""
    try:
        options = pa.ipc.IpcReadOptions(use_threads=False)
        is_file = bytes(memoryview(data)[: len(FILE_MARK)]) == FILE_MARK
        with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.py_buffer(data), options=options) as reader:
            check_size(0, len(reader.schema.names))
            batches = []
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
                batch.validate(full=True)
                batches.append(batch)
            found = pa.Table.from_batches(batches, reader.schema)
        return from_arrow(found, text, check_size, make_room)
    except MemoryError:  # Arrow's own is an ArrowException too, and must not be reported as a malformed file
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise NotArrow("an Arrow stream", error) from None


def read_parquet(
    data: Buffer, text: Collection[str] = (), check_size: CheckSize = any_size, make_room: MakeRoom = new_matrix
) -> Table:
    """Read a Parquet file. Text that is stored dictionary-encoded stays so."""
    limits = {"thrift_string_size_limit": MAX_TEXT_BYTES, "thrift_container_size_limit": MAX_ELEMENTS}
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(data), pre_buffer=False, **limits)
        check_size(file.metadata.num_rows, file.metadata.num_columns)
        schema = file.schema_arrow
        _check_columns(schema)
        texts = [field.name for field in schema if _is_text(field.type)]
        if texts:
            source = pa.BufferReader(data)
            file = pa.parquet.ParquetFile(source, read_dictionary=texts, pre_buffer=False, **limits)
        found = file.read(use_threads=False)
        found.validate(full=True)
        return from_arrow(found, text, check_size, make_room)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise NotArrow("a Parquet file", error) from None


def from_frame(frame: Any, text: Collection[str] = ()) -> Table:
    """The table of a DataFrame of pandas, polars, pyarrow, or another library that narwhals supports."""
    import narwhals

    try:
        found = narwhals.maybe_reset_index(narwhals.from_native(frame, eager_only=True))  # an index is not a column
        found = found.with_columns(*(column for name in found.columns if (column := _as_text(found[name])) is not None))
        return from_arrow(found.to_arrow(), text)
    except (pa.ArrowException, narwhals.exceptions.NarwhalsError, TypeError, OverflowError) as error:
        raise NotArrow("a table of plain columns", error) from None


def _as_text(column: Any) -> Any:
    """A column of Python objects that mixes text with other values, as text; None if it is no such column."""
    import narwhals

    if column.dtype != narwhals.Object:
        return None
    missing = column.is_null().to_list()
    cells = [None if is_null else cell for cell, is_null in zip(column.to_list(), missing, strict=True)]
    is_text = {isinstance(cell, str) for cell in cells if cell is not None}
    if is_text != {True, False} or not all(isinstance(cell, Cell) for cell in cells):
        return None
    written = [None if cell is None else as_text(cell) for cell in cells]
    return narwhals.new_series(column.name, written, narwhals.String, backend=column.implementation)


def from_arrow(
    found: Any, text: Collection[str] = (), check_size: CheckSize = any_size, make_room: MakeRoom = new_matrix
) -> Table:
    """Numbers as numbers, and all other columns as text: dates and times as ISO 8601."""
    check_size(found.num_rows, found.num_columns)
    _check_columns(found.schema)
    names = tuple(found.column_names)
    columns = {name: _plain(found.column(index)) for index, name in enumerate(names)}
    number_names = tuple(
        name for name, column in columns.items() if _is_number(_value_type(column.type)) and name not in text
    )
    texts = {name: encode_text(column) for name, column in columns.items() if name not in number_names}
    codes = np.empty((found.num_rows, len(texts)), np.int32)
    for index, (values, _) in enumerate(texts.values()):
        codes[:, index] = values
    numbers = make_room((found.num_rows, len(number_names)))
    step = max(1, BLOCK_BYTES // (8 * max(1, len(number_names))))
    for begin in range(0, found.num_rows, step):
        block = numbers[begin : begin + step]
        for index, name in enumerate(number_names):
            block[:, index] = _to_numbers(columns[name].slice(begin, step))
    return Table(names, number_names, numbers, tuple(texts), codes, tuple(values for _, values in texts.values()))


def encode_text(column: Any) -> tuple[Codes, tuple[str, ...]]:
    """Codes into the sorted values of a column, as text. Each distinct value is converted only once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    encoded = column.unify_dictionaries().combine_chunks()
    texts = _to_text(encoded.dictionary).dictionary_encode()  # a dictionary may hold nulls, and values twice
    codes = texts.indices.take(encoded.indices).fill_null(NO_CATEGORY).to_numpy(zero_copy_only=False)
    return sort_categories(codes, texts.dictionary.to_pylist())


def _check_columns(schema: Any) -> None:
    """Refuse columns with equal names, and those of nested or other unsupported types."""
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1}) if _has_twins(schema) else []
    if twice:
        detail = f"columns are named twice: {', '.join(name[:100] for name in twice[:50])}"
        raise ArrowError([(None, detail, "give every column a name of its own")])
    strange: list[tuple[str | None, str, str | None]] = [
        (field.name, f"holds {field.type} values", "send numbers, text, dates or times")
        for field in schema
        if not _is_plain(_value_type(field.type))
    ]
    if strange:
        raise ArrowError(strange)


def _has_twins(schema: Any) -> bool:
    return len(set(schema.names)) < len(schema.names)


def _value_type(kind: Any) -> Any:
    """The type of the values of a column, even if it is dictionary-encoded or run-length encoded."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _value_type(kind.value_type)
    return kind


def _is_plain(kind: Any) -> bool:
    return bool(_is_number(kind) or _is_text(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind))


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
    )


def _is_text(kind: Any) -> bool:
    """Text, or bytes that may be text."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _plain(column: Any) -> Any:
    """A column without run-length encoding. Whole numbers too large for float64 are ids, and become text."""
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    kind = _value_type(column.type)
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if _is_number(kind) and pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_integer(kind) and kind.bit_width == 64 and len(column) > column.null_count:
        least, greatest = (value.as_py() for value in pc.min_max(column).values())
        if least < -EXACT or greatest > EXACT:
            return column.cast(pa.string())
    return column


def _to_numbers(column: Any) -> Array:
    """float64, NaN where missing; durations in seconds."""
    kind, scale = column.type, 1.0
    if pa.types.is_duration(kind):
        column, scale = column.cast(pa.int64()), {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    values: Array = column.cast(pa.float64(), safe=False).to_numpy()
    return values / scale if scale != 1.0 else values


def _to_text(values: Any) -> Any:
    """Values as text. Times with a time zone are given in UTC."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit))
    text = values.cast(pa.string())
    if pa.types.is_temporal(kind) and not pa.types.is_date(kind):
        text = pc.replace_substring_regex(pc.replace_substring_regex(text, FRACTION, r"\1"), r"\.$", "")
        if pa.types.is_timestamp(kind) and pc.all(pc.ends_with(text, MIDNIGHT)).as_py():
            text = pc.utf8_slice_codeunits(text, 0, -len(MIDNIGHT))
    return text
