"""The headers of Parquet pages, as pyarrow writes them and as somebody would who means harm."""

from __future__ import annotations

import io
import itertools
import struct
from base64 import b64encode
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from service.errors import Invalid, Malformed, TooLarge
from service.intake.formats import CODECS, Limits, arrow
from service.intake.formats.parquet_pages import Page, check_pages, pages, read_page
from tests.fuzz.bodies import parquet_of, repeating_schema

LIMITS = Limits(bytes=1 << 20, rows=100_000, columns=100)
N_ROWS = 5_000
DAMAGED = "the header of a page is damaged"


def some_table() -> Any:
    numbers = np.random.default_rng(0).standard_normal(N_ROWS)
    gaps = pa.array(numbers, mask=np.arange(N_ROWS) % 3 == 0)
    texts = [f"text {row % 7}" if row % 5 else None for row in range(N_ROWS)]
    return pa.table({"numbers": numbers, "gaps": gaps, "texts": texts, "flags": numbers > 0})


def varint(value: int, length: int = 0) -> bytes:
    """A number as Thrift writes it, made longer where asked for."""
    digits = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    digits += [0] * (length - len(digits))
    return bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])


def number(value: int, length: int = 0) -> bytes:
    return varint(value << 1 if value >= 0 else -value * 2 - 1, length)


def lie(content: bytes, *lies: tuple[int, int]) -> bytes:
    """The file with other numbers in its footer: (what is there, what shall be there)."""
    length = struct.unpack("<I", content[-8:-4])[0]
    pages, footer, tail = content[: -8 - length], content[-8 - length : -8], content[-8:]
    for there, wanted in lies:
        assert number(there) in footer
        footer = footer.replace(number(there), number(wanted, len(number(there))))
    return pages + footer + tail


def metadata(content: bytes) -> Any:
    return pa.parquet.ParquetFile(io.BytesIO(content)).metadata


@pytest.mark.parametrize(
    ("compression", "use_dictionary", "version"),
    list(itertools.product(["none", "snappy", "gzip", "brotli", "zstd", "lz4"], [True, False], ["1.0", "2.0"])),
)
def test_what_pyarrow_writes_is_read(compression: str, use_dictionary: bool, version: str) -> None:
    table = some_table()
    options = {"data_page_version": version, "write_page_index": True, "write_page_checksum": True}
    content = parquet_of(
        table,
        compression=compression,
        use_dictionary=use_dictionary,
        row_group_size=2_000,
        data_page_size=1_000,
        **options,
    )
    assert arrow.read_parquet(content, LIMITS).cast(table.schema).equals(table)
    group = metadata(content).row_group(0)
    for index in range(group.num_columns):
        chunk = group.column(index)
        found = list(pages(memoryview(content), chunk))
        assert sum(page.n_values for page in found if not page.is_dictionary) == group.num_rows
        headers = chunk.total_compressed_size - sum(page.n_stored_bytes for page in found)
        assert sum(page.n_bytes for page in found) + headers == chunk.total_uncompressed_size


def test_an_empty_table_is_read() -> None:
    assert arrow.read_parquet(parquet_of(some_table().slice(0, 0)), LIMITS).num_rows == 0


def test_a_footer_that_is_modest_about_its_pages_is_not_believed() -> None:
    """Without a look at the pages, these few bytes took 2 MiB for every limit of one."""
    content = parquet_of(pa.table({"text": ["x" * LIMITS.bytes] * 2}), compression="zstd", use_dictionary=False)
    declared = metadata(content).row_group(0).total_byte_size
    modest = lie(content, (declared, 1_000))
    assert metadata(modest).row_group(0).total_byte_size == 1_000
    with pytest.raises(TooLarge):
        CODECS["application/vnd.apache.parquet"].decode(modest, LIMITS, None)


def test_a_footer_that_is_modest_about_its_rows_is_not_believed() -> None:
    content = parquet_of(pa.table({"width": np.zeros(N_ROWS)}), use_dictionary=False)
    with pytest.raises(Malformed, match="more values than it can have"):
        arrow.read_parquet(lie(content, (N_ROWS, 100)), LIMITS)


def test_rows_have_to_add_up() -> None:
    content = parquet_of(pa.table({"width": np.zeros(N_ROWS)}), row_group_size=3_000, use_dictionary=False)
    with pytest.raises(Malformed, match="do not have the rows of the file"):
        arrow.read_parquet(lie(content, (3_000, 2_999)), LIMITS)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_a_column_whose_values_take_next_to_no_bytes_is_refused(encoding: str) -> None:
    """A megabyte that every value repeats costs it two bytes; or a page has as many lengths as it says, of no bits."""
    column = {"column_encoding": {"text": encoding}, "use_dictionary": False}
    with pytest.raises(Malformed, match=f" {encoding};"):
        arrow.read_parquet(parquet_of(pa.table({"text": ["x" * 1_000] * 1_000}), **column), LIMITS)


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet_of(some_table(), data_page_size=1, write_batch_size=10)
    monkeypatch.setattr("service.intake.formats.parquet_pages.MAX_PAGES", 100)
    with pytest.raises(Malformed, match="more than 100 pages; write larger row groups"):
        check_pages(content, metadata(content), LIMITS)


def test_a_page_that_is_cut_off_is_refused() -> None:
    content = parquet_of(pa.table({"width": np.arange(1000.0)}), use_dictionary=False, compression="none")
    with pytest.raises(Malformed, match="cut off"):
        list(pages(memoryview(content)[:4_000], metadata(content).row_group(0).column(0)))


def field(step: int, kind: int, content: bytes = b"") -> bytes:
    return bytes([step << 4 | kind]) + content


def listed(*elements: bytes, kind: int = 12) -> bytes:
    return bytes([0xF0 | kind]) + varint(len(elements)) + b"".join(elements)


def plain_footer(*groups: bytes, schema: tuple[bytes, ...] = (), more: bytes = b"") -> bytes:
    """A file of no rows and, unless told otherwise, of one column of whole numbers."""
    table = field(4, 8, varint(1) + b"t") + field(1, 5, number(len(schema) or 1)) + b"\0"
    column = field(1, 5, number(2)) + field(2, 5, number(0)) + field(1, 8, varint(1) + b"a") + b"\0"
    elements = field(1, 5, number(1)) + field(1, 9, listed(table, *(schema or (column,))))
    footer = elements + field(1, 6, number(0)) + field(1, 9, listed(*groups)) + more + b"\0"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def group_of(*columns: bytes, kind: int = 12) -> bytes:
    return field(1, 9, listed(*columns, kind=kind)) + field(1, 6, number(0)) + field(1, 6, number(0)) + b"\0"


CHUNK = field(2, 6, number(4)) + b"\0"  # of which nothing is known but where it begins
KEY = field(1, 9, listed(varint(1) + b"a", kind=8)) + b"\0"
ENCRYPTED = CHUNK[:-1] + field(6, 12, field(2, 12, KEY) + b"\0") + b"\0"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (plain_footer(group_of(CHUNK, CHUNK)), "do not have the columns of the file"),  # each of these two
        (plain_footer(group_of(ENCRYPTED)), "encrypted"),  # ended the process that asked pyarrow about its columns
        (plain_footer(group_of(*[CHUNK] * 100_001)), "more than 100000 pages"),
        (plain_footer(more=field(1, 9, listed(*[field(1, 8, b"\0") + b"\0"] * 1_000_001))), "footer is damaged"),
        (plain_footer(group_of(b"\1", kind=3)), "footer is damaged"),
        (plain_footer(more=field(1, 11, b"\0")), "footer is damaged"),
        (b"PAR1" + bytes(4) + b"\xff\xff\xff\x7fPAR1", "no footer"),
        (b"PAR1", "no footer"),
        (b"", "no footer"),
    ],
)
def test_footers_that_are_refused_before_pyarrow_sees_them(content: bytes, complaint: str) -> None:
    with pytest.raises(Malformed, match=complaint):
        arrow.read_parquet(content, LIMITS)


def test_columns_of_one_name_are_refused_before_their_text_is_written_out() -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(N_ROWS, np.int32)), ["x" * 10_000])
    content = parquet_of(pa.Table.from_arrays([text, text], names=["a", "a"]), store_schema=False)
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(Invalid, match="columns are named twice"):
        arrow.read_parquet(content, LIMITS)
    assert pa.default_memory_pool().max_memory() - before < N_ROWS * 10_000


@pytest.mark.parametrize(("kind", "n_bytes"), [(7, 1_000_000), (6, 0)])
def test_decimals_of_any_length_are_refused(kind: int, n_bytes: int) -> None:
    """Every row took as many bytes as the column may have, gaps included."""
    stored = field(1, 5, number(kind)) + field(1, 5, number(n_bytes)) + field(1, 5, number(1))
    named = field(1, 8, varint(1) + b"a") + field(2, 5, number(5)) + field(1, 5, number(0)) + field(1, 5, number(9))
    with pytest.raises(Invalid, match="values stored as bytes of any length"):
        arrow.read_parquet(plain_footer(schema=(stored + named + b"\0",)), LIMITS)


def test_decimals_are_read() -> None:
    kinds = [pa.decimal128(9, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)]
    table = pa.table({str(index): pa.array([Decimal("1.25"), None], kind) for index, kind in enumerate(kinds)})
    for options in ({}, {"store_decimal_as_integer": True}):
        assert arrow.read_parquet(parquet_of(table, **options), LIMITS).equals(table)


def test_arrow_schemas_in_footers() -> None:
    def footer_with(schema: bytes) -> bytes:
        pair = field(1, 8, varint(12) + b"ARROW:schema") + field(1, 8, varint(len(schema)) + schema) + b"\0"
        return plain_footer(more=field(1, 9, listed(pair)))

    sound = io.BytesIO()
    with pa.ipc.new_stream(sound, pa.schema({"a": pa.int64()})):
        pass
    assert arrow.read_parquet(footer_with(b64encode(sound.getvalue())), LIMITS).column_names == ["a"]
    with pytest.raises(Malformed, match="repeats itself"):
        arrow.read_parquet(footer_with(b64encode(repeating_schema())), LIMITS)
    for damaged in (b"", b"!", b64encode(b"\xff\xff\xff\xff\1\0\0\0"), b64encode(bytes(100))):
        with pytest.raises(Malformed):
            arrow.read_parquet(footer_with(damaged), LIMITS)


def test_a_footer_of_too_many_columns_is_refused() -> None:
    column = field(1, 5, number(2)) + field(2, 5, number(0)) + field(1, 8, varint(1) + b"a") + b"\0"
    with pytest.raises(Invalid, match="101 columns"):
        arrow.read_parquet(plain_footer(schema=(column,) * 101), LIMITS)
    assert arrow.read_parquet(plain_footer(group_of(CHUNK)), LIMITS).num_rows == 0


def header(kind: int = 0, n_values: int = 7, n_bytes: int = 9, more: bytes = b"") -> bytes:
    """A page header of version 1."""
    said = field(1, 5, number(n_values)) + field(1, 5, number(0)) + b"\0"
    sizes = field(1, 5, number(kind)) + field(1, 5, number(n_bytes)) + field(1, 5, number(5))
    return sizes + field(4 if kind == 2 else 2, 12, said) + more + b"\0"


def test_field_numbers_that_begin_anew_are_refused() -> None:
    """After 32,767 pyarrow counts from -32,768 on, until the second field comes again with another size."""
    to_the_largest = field(0, 1, number(32_767))
    around = field(15, 1) * (2**15 // 15) + field(2**15 % 15, 1)  # to 65,535, which is -1
    with pytest.raises(Malformed, match=DAMAGED):
        read_page(memoryview(header(more=to_the_largest + around + field(3, 5, number(1 << 30)))), 0)


def test_headers_are_understood() -> None:
    expected = Page(is_dictionary=False, n_values=7, encoding=0, n_bytes=9, n_stored_bytes=5)
    statistics = field(4, 12, field(1, 8, varint(3) + b"abc") + field(2, 6, number(-1)) + field(1, 7, bytes(8)) + b"\0")
    for more in (b"", statistics, field(4, 1), field(4, 3, b"!"), field(0, 5, number(300) + number(1))):
        content = header(more=more)
        assert read_page(memoryview(content), 0) == (expected, len(content))
    assert read_page(memoryview(header(kind=2)), 0)[0].is_dictionary


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        header()[:-3],
        header(n_values=-1),
        header(n_bytes=-1),
        header(kind=3),  # which has its values elsewhere
        header(more=field(0, 5, number(2) + number(1_000_000))),  # the size a second time
        header(more=field(0, 5, varint(2**17 + 4) + number(1_000_000))),  # the same to who drops the upper bits
        header(n_bytes=2**31),
        header(more=field(4, 9, b"\x15\0")),
        header(more=field(4, 8, varint(2**31))),
        header(more=field(4, 12) * 9 + b"\0" * 9),
        header(more=field(4, 5, b"\xff" * 20)),
        header(more=field(4, 0)),
    ],
)
def test_headers_made_to_be_misunderstood_are_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match=DAMAGED):
        read_page(memoryview(content), 0)
