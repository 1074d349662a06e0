"""What the footer and the pages of a Parquet file say of themselves.

The figures of the footer bind nobody: a reader makes room for what the header of each page says, so that is what has to
be within the limits. Footer and headers are Thrift structs in its compact form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from service.errors import Malformed, TooLarge
from service.intake.formats.table import Content, Limits, check_size

Fields: TypeAlias = dict[int, Any]  # of a struct, by their numbers in parquet.thrift

MAX_PAGES = 100_000  # a second's work; pages usually hold some ten thousand rows of a column
MAX_ELEMENTS = 1_000_000  # of all lists of a footer: ten for each column of a row group
NO_ELEMENTS: Iterator[int] = iter(())
MAX_DEPTH = 8
MAGIC = b"PAR1"
TAIL_BYTES = 8  # the length of the footer, and the magic word
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3  # of PageType
HEADERS = {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}  # the field that says more of a page of this type
UNBOUNDED = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}  # of Encoding: values that take next to no bytes
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 7, 8, 9, 12  # kinds of fields in the compact form
BITS = {4: 16, 5: 32, 6: 64}  # of the kinds that are whole numbers
MAX_FIELD = 2**15 - 1
SCHEMA, ROW_GROUPS, PAIRS = 2, 4, 5  # fields of FileMetaData
KEY, VALUE = 1, 2  # of KeyValue
ARROW_SCHEMA = b"ARROW:schema"
COLUMNS = 1  # of RowGroup
CRYPTO_METADATA = 8  # of ColumnChunk
ENCODINGS, PATHS = (3, 2), {(3, 3), (4, 1)}  # depth and field of lists of numbers, and of text
STATISTICS_DEPTH = 4  # from here on all others are of numbers as well; before, of structs


@dataclass(frozen=True)
class Page:
    """The header of a page."""

    is_dictionary: bool
    n_values: int
    encoding: int
    n_bytes: int  # uncompressed
    n_stored_bytes: int


def check_footer(body: Content, limits: Limits) -> list[bytes]:
    """Refuse a footer that takes far more memory than bytes, or with which pyarrow takes the process down.

    It ends the process where it is asked about a column that is encrypted. Answers the Arrow schemas of the footer, of
    which there should be one.
    """
    data = memoryview(body)
    n_bytes = int.from_bytes(data[-TAIL_BYTES : -len(MAGIC)], "little")
    if len(data) < TAIL_BYTES + len(MAGIC) or data[-len(MAGIC) :] != MAGIC or n_bytes > len(data) - TAIL_BYTES:
        raise Malformed("the body is not a Parquet file: it has no footer")
    begin = len(data) - TAIL_BYTES - n_bytes
    try:
        text = bytes(data[begin:-TAIL_BYTES])
        footer, _ = read_struct(memoryview(text), 0, elements=iter(range(MAX_ELEMENTS)))
        check_size(0, len(footer[SCHEMA]) - 1, limits)  # the first element is the table itself
        columns = [column for group in footer[ROW_GROUPS] for column in group[COLUMNS]]
        is_encrypted = any(CRYPTO_METADATA in column for column in columns)
        pairs = [(text[pair[KEY]], pair.get(VALUE)) for pair in footer.get(PAIRS) or ()]
    except (IndexError, KeyError, TypeError, ValueError):
        raise Malformed("the body is not a Parquet file: the footer is damaged") from None
    if is_encrypted:
        raise Malformed("the Parquet file is encrypted")
    check_number(len(columns))
    return [text[value] for key, value in pairs if key == ARROW_SCHEMA and value is not None]


def check_pages(body: Content, metadata: Any, limits: Limits) -> None:
    """Refuse a file whose pages hold more than its footer says, more than the limits allow, or nothing can bound."""
    n_pages, n_bytes = 0, 0
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) != metadata.num_rows:
        raise Malformed("the body is not a Parquet file: its row groups do not have the rows of the file")
    if any(group.num_columns != metadata.num_columns for group in groups):  # asked for those, pyarrow ends the process
        raise Malformed("the body is not a Parquet file: its row groups do not have the columns of the file")
    for group in groups:
        for column in (group.column(index) for index in range(group.num_columns)):
            n_pages += 1
            left = group.num_rows
            for page in pages(memoryview(body), column):
                n_pages, n_bytes = n_pages + 1, n_bytes + max(page.n_bytes, page.n_stored_bytes)
                left -= 0 if page.is_dictionary else page.n_values
                if n_bytes > limits.bytes:
                    raise TooLarge(limits.bytes)
                if encoding := UNBOUNDED.get(page.encoding):
                    raise Malformed(f"the Parquet file has a column stored as {encoding}; store it otherwise")
                if left < 0 or (page.is_dictionary and page.n_values > page.n_bytes):
                    raise Malformed("the body is not a Parquet file: a page has more values than it can have")
                check_number(n_pages)


def check_number(n_pages: int) -> None:
    """Refuse a file of very many pages, or columns of row groups, which have one each at least."""
    if n_pages > MAX_PAGES:
        raise Malformed(f"the Parquet file has more than {MAX_PAGES} pages; write larger row groups")


def pages(body: memoryview, column: Any) -> Iterator[Page]:
    """The pages of a column chunk that a reader reads: as many as it takes for the values of the chunk."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    n_left = column.num_values
    if at < 0:
        raise Malformed("the body is not a Parquet file: a column begins before it")
    while n_left > 0:
        page, at = read_page(body, at)
        at += page.n_stored_bytes
        if at > len(body):
            raise Malformed("the body is not a Parquet file: a page is cut off")
        n_left -= 0 if page.is_dictionary else page.n_values
        yield page


def read_page(body: memoryview, at: int) -> tuple[Page, int]:
    """The header that begins there, and where its page begins."""
    try:
        fields, at = read_struct(body, at)
        kind = fields[1]
        header = fields[HEADERS[kind]] if kind in HEADERS else {}
        page = Page(
            is_dictionary=kind == DICTIONARY_PAGE,
            n_values=header.get(1, 0),
            encoding=header.get(4 if kind == DATA_PAGE_V2 else 2, 0),
            n_bytes=fields[2],
            n_stored_bytes=fields[3],
        )
        if min(page.n_values, page.n_bytes, page.n_stored_bytes) < 0:
            raise ValueError("a page cannot have less than nothing")
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        raise Malformed("the body is not a Parquet file: the header of a page is damaged") from None
    return page, at


def read_struct(data: memoryview, at: int, depth: int = 0, elements: Iterator[int] = NO_ELEMENTS) -> tuple[Fields, int]:
    """The fields of a struct, and where it ends; of text where it stands, of fractions, which nobody asks for, nothing.

    What two readers could understand in two ways is refused: fields that come twice, numbers that are too long. Lists
    take from `elements`; a page header has none.
    """
    fields: Fields = {}
    number = 0
    while data[at] != 0:
        step, kind = divmod(data[at], 16)
        number, at = (number + step, at + 1) if step else read_number(data, at + 1, BITS[4])
        if number in fields or number > MAX_FIELD:
            raise ValueError("a field comes twice, or does for a reader whose numbers begin anew after 16 bits")
        fields[number] = None
        if kind in (TRUE, FALSE):
            fields[number] = kind == TRUE
        elif kind == BYTE:
            at += 1
        elif kind == DOUBLE:
            at += 8
        elif kind == LIST:
            fields[number], at = read_list(data, at, depth, number, elements)
        else:
            fields[number], at = read_value(data, at, depth, kind, elements)
    return fields, at + 1


def read_value(data: memoryview, at: int, depth: int, kind: int, elements: Iterator[int]) -> tuple[Any, int]:
    """A whole number, a struct, or where a text stands."""
    if kind in BITS:
        return read_number(data, at, BITS[kind])
    if kind == BINARY:
        length, at = read_varint(data, at, 32)
        return slice(at, at + length), at + length
    if kind == STRUCT and depth < MAX_DEPTH:
        return read_struct(data, at, depth + 1, elements)
    raise ValueError("no footer or page header has maps, or structs so deep")


def read_list(data: memoryview, at: int, depth: int, number: int, elements: Iterator[int]) -> tuple[list[Any], int]:
    """The elements of a list. pyarrow reads those of the kind that it expects, whatever kind the list says."""
    size, kind = divmod(data[at], 16)
    size, at = (size, at + 1) if size < 15 else read_varint(data, at + 1, 32)
    if (depth, number) in PATHS:
        is_expected = kind == BINARY
    elif (depth, number) == ENCODINGS or depth >= STATISTICS_DEPTH:
        is_expected = kind in BITS
    else:
        is_expected = kind == STRUCT
    if not is_expected:
        raise ValueError("a list has elements of another kind than it should have")
    values = []
    for _ in range(size):
        if next(elements, None) is None:
            raise ValueError("there are too many elements")
        value, at = read_value(data, at, depth, kind, elements)
        values.append(value)
    return values, at


def read_number(data: memoryview, at: int, bits: int) -> tuple[int, int]:
    """A signed number: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ..."""
    value, at = read_varint(data, at, bits)
    return (value >> 1) ^ -(value & 1), at


def read_varint(data: memoryview, at: int, bits: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first."""
    value = 0
    for shift in range(0, bits, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value < 2**bits:
            return value, at
    raise ValueError(f"a number has more than {bits} bits")
