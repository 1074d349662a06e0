"""What parsers are fed: sound and hostile bodies with bytes changed, and bodies put together out of odd parts."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.fuzz import bodies
from tests.workbooks import workbook

Bodies = st.SearchStrategy[bytes]

PIECES = [
    b"\0",
    b"\xff",
    b"\xff" * 4,
    b"\0" * 8,
    b"\xff\xff\xff\x7f",
    b"\x80\0\0\0",
    b"9" * 40,
    b"-",
    b"1e999",
    b'"',
    b"''",
]
PIECES += [
    b"{",
    b"[",
    b"]",
    b"}",
    b":",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"NaN",
    b"null",
    b"\\ud800",
    b"\xed\xa0\x80",
    b"PK",
]
MAX_CHANGES = 5
MAX_COPY = 4_096


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """A body with a few changes: bytes overwritten, inserted, cut out, repeated, or taken from another body."""
    body = draw(any_of(seeds))
    for _ in range(draw(st.integers(0, MAX_CHANGES))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, MAX_COPY)))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        match draw(st.sampled_from(["overwrite", "insert", "cut", "truncate", "repeat", "splice"])):
            case "overwrite":
                body = body[:start] + piece + body[start + len(piece) :]
            case "insert":
                body = body[:start] + piece + body[start:]
            case "cut":
                body = body[:start] + body[end:]
            case "truncate":
                body = body[:start]
            case "repeat":
                body = body[:end] + body[start:]
            case "splice":
                body = body[:start] + draw(any_of(seeds))[start:]
    return body


def any_of(seeds: Sequence[bytes]) -> Bodies:
    """One of them. Not by `sampled_from`, which writes all of them down when something fails."""
    return st.integers(0, len(seeds) - 1).map(lambda index: seeds[index])


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner))
NAMES = st.sampled_from(["width", "height", "color", "y", "", "a/b~"])
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "X": st.lists(st.lists(st.floats() | st.integers(), min_size=2, max_size=3), max_size=5) | VALUES,
    "rows": st.lists(st.dictionaries(NAMES, SCALARS, max_size=3), max_size=5) | VALUES,
    "y": st.lists(SCALARS, max_size=5) | VALUES,
    "columns": st.dictionaries(NAMES, st.sampled_from(["numeric", "categorical", "id", "group", "what"])) | VALUES,
    "feature_names": st.lists(st.text(max_size=3), max_size=4) | VALUES,
    "name": VALUES,
    "metadata": VALUES,
}


@st.composite
def json_bodies(draw: st.DrawFn) -> bytes:
    """Objects with the right names and anything behind them."""
    names = draw(st.sets(st.sampled_from(sorted(MEMBERS)), max_size=4))
    return json.dumps({name: draw(MEMBERS[name]) for name in sorted(names)}).encode()


CELLS = [
    "1",
    "-2.5",
    "1,5",
    "1e400",
    "NA",
    "",
    '"a""b"',
    '"x\ny"',
    "x;y",
    "'",
    '"',
    "\ufeff",
    "007",
    "ä",
    "\0",
    "\u2028",
    "a,b",
]


@st.composite
def csv_bodies(draw: st.DrawFn) -> bytes:
    """Rows of odd cells, mostly equally long."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", ", "]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
    width = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from(["width", "height", "y", "color", "", "a"]), min_size=width, max_size=width))
    cells = st.sampled_from(CELLS) | st.text(max_size=4)
    rows = draw(st.lists(st.lists(cells, min_size=max(width - 1, 1), max_size=width), max_size=8))
    text = end.join(delimiter.join(row) for row in (names, *rows))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-16", "cp1252"])), errors="replace")


@st.composite
def workbooks(draw: st.DrawFn) -> bytes:
    """Sheets of odd cells, anywhere."""
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
    days = st.dates(date(1900, 1, 1), date(2200, 1, 1)) | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
    cells = st.none() | st.sampled_from(CELLS).filter(str.isprintable) | numbers | st.booleans() | days
    sheets = st.lists(st.lists(cells, max_size=4), max_size=6)
    names = st.sampled_from(["a", "b", "long name"])
    place = st.integers(0, 30)
    return workbook(draw(st.dictionaries(names, sheets, min_size=1, max_size=2)), draw(place), draw(place))


DESCRIPTIONS = [
    "<f8",
    ">f8",
    "<f4",
    "<f2",
    "<i1",
    ">i8",
    "<u8",
    "|b1",
    "<U1",
    "<U300",
    "|S3",
    "<M8[s]",
    "<c16",
    "|V8",
    "|O",
]


@st.composite
def npy_bodies(draw: st.DrawFn) -> bytes:
    """Declared shapes and types with some bytes behind them, mostly as many as declared."""
    shape = tuple(draw(st.lists(st.integers(0, 6) | st.integers(-1, 2**70), max_size=3)))
    description = draw(st.sampled_from(DESCRIPTIONS))
    size = np.dtype(description).itemsize
    for length in shape:
        size *= length
    data = draw(st.binary(max_size=64))
    if 0 < size < 4_096 and draw(st.booleans()):
        data = (data or b"\0") * size
        data = data[:size]
    return bodies.npy_of(repr(shape), repr(description), data)


@st.composite
def npz_bodies(draw: st.DrawFn) -> bytes:
    """Archives whose members are odd."""
    compression = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    sound = st.sampled_from([bodies.npy(bodies.ROWS), bodies.npy(bodies.LABELS)])
    members = draw(st.dictionaries(st.sampled_from(["X", "y", "feature_names", "z"]), sound | npy_bodies(), max_size=4))
    return bodies.archive(members, compression)


TYPES = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_(), pa.string(), pa.large_string(), pa.binary()]
TYPES += [pa.null(), pa.date32(), pa.timestamp("ns"), pa.decimal128(5, 2), pa.list_(pa.int8()), pa.string_view()]
TYPES += [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.float64()), pa.time32("s")]


@st.composite
def arrow_tables(draw: st.DrawFn) -> Any:
    """Columns of all types, with gaps."""
    n_rows = draw(st.integers(0, 6))
    columns = {}
    for name in draw(st.lists(NAMES, max_size=4, unique=True)):
        kind = draw(st.sampled_from(TYPES))
        values = draw(st.lists(st.none() | st.integers(0, 100), min_size=n_rows, max_size=n_rows))
        try:
            columns[name] = pa.array(values).cast(kind)
        except pa.ArrowException:
            columns[name] = pa.nulls(n_rows, kind)
    return pa.table(columns)


def written(table: Any, write: Any) -> bytes:
    """A table as a file, or no bytes where the format does not have its types."""
    try:
        content: bytes = write(table)
    except pa.ArrowException:
        return b""
    return content


BUILT: dict[str, Bodies] = {
    "application/json": json_bodies(),
    "text/csv": csv_bodies(),
    "application/x-npy": npy_bodies(),
    "application/x-npz": npz_bodies(),
    "application/vnd.apache.arrow.stream": arrow_tables().map(lambda table: written(table, bodies.stream_of)),
    "application/vnd.apache.parquet": arrow_tables().map(lambda table: written(table, bodies.parquet_of)),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": workbooks(),
}


def bodies_of(media_type: str) -> Bodies:
    """Everything that a parser of the media type is fed."""
    sound, hostile = bodies.SOUND[media_type], bodies.HOSTILE[media_type]
    return mutated(sound) | mutated(sound + hostile) | BUILT[media_type]
