"""Bodies by media type: sound ones, from which mutations start, and ones made to break a parser."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from tests.workbooks import Cell, workbook

ROWS = np.arange(24.0).reshape(8, 3) ** 1.5
LABELS = np.array(["a", "b"] * 4)
COLUMNS = {"width": ROWS[:, 0], "height": ROWS[:, 1], "color": ["red", "blue", None, "red"] * 2, "y": LABELS}
SHEET: list[list[Cell]] = [
    ["width", "color", "day", "y"],
    [1.5, "red", date(2024, 1, 5), "a"],
    [2, None, None, "b"],
] * 2
DEEP = 20_000
LONG = 200_000
MESSAGE_HEADER, SCHEMA_FIELDS = 2, 1  # field numbers in Message.fbs and Schema.fbs of Arrow


def npy(values: npt.NDArray[Any]) -> bytes:
    """An array as npy."""
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


def npy_file(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """An npy file with a header of one's own."""
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def npy_of(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    """An npy file that declares a shape and a type."""
    return npy_file(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}", data)


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An npz of members as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return stream.getvalue()


def ipc_file_of(table: Any, **options: Any) -> bytes:
    """A table as an Arrow IPC file."""
    stream = io.BytesIO()
    with pa.ipc.new_file(stream, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return stream.getvalue()


def stream_of(table: Any, **options: Any) -> bytes:
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_of(table: Any, **options: Any) -> bytes:
    """A table as a Parquet file."""
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink, **options)
    return sink.getvalue()


def repeating_schema() -> bytes:
    """An Arrow stream whose fields are all the first: they are found by their places, and all places may be one."""
    table = pa.table({"a" * 1_000: [1.0], **{f"b{index}": [1.0] for index in range(10)}})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema):
        pass
    body = bytearray(sink.getvalue())
    metadata = bytes(body[8:])
    header = referred_to(metadata, struct.unpack_from("<I", metadata)[0], MESSAGE_HEADER)
    fields = referred_to(metadata, header, SCHEMA_FIELDS)
    first = fields + 4 + struct.unpack_from("<I", metadata, fields + 4)[0]
    for place in range(fields + 4, fields + 4 + 4 * table.num_columns, 4):
        struct.pack_into("<I", body, 8 + place, first - place)
    assert pa.ipc.open_stream(bytes(body)).schema.names == ["a" * 1_000] * table.num_columns
    return bytes(body)


def referred_to(data: bytes, table: int, field: int) -> int:
    """Where that begins which the field of a FlatBuffers table refers to."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    place: int = table + struct.unpack_from("<H", data, vtable + 4 + 2 * field)[0]
    return place + int(struct.unpack_from("<I", data, place)[0])


def repeated(text: str, n_rows: int) -> Any:
    """A column that says the same long text again and again, and stores it once."""
    codes = pa.array(np.zeros(n_rows, np.int32))
    return pa.table({"color": pa.DictionaryArray.from_arrays(codes, [text]), "width": np.arange(float(n_rows))})


def of_types(*types: Any, n_rows: int = 4) -> Any:
    """A table of gaps of these types."""
    return pa.table({f"c{index}": pa.nulls(n_rows, each) for index, each in enumerate(types)})


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([100_000], pa.int32()), pa.array([1.5]))
VIEW = struct.pack("<i4sii", LONG, b"xxxx", 0, 0)  # of the whole of the first buffer
VIEWS = pa.Array.from_buffers(
    pa.string_view(), 100_000, [None, pa.py_buffer(VIEW * 100_000), pa.py_buffer(b"x" * LONG)]
)
SOUND: dict[str, list[bytes]] = {
    "application/json": [
        json.dumps({"X": ROWS.tolist(), "y": LABELS.tolist(), "name": "n", "metadata": {"a": "b"}}).encode(),
        json.dumps({"X": ROWS.tolist(), "y": [1, 2] * 4, "feature_names": ["a", "b", "c"]}).encode(),
        b'{"rows": [{"width": 1, "color": "red"}, {"color": null, "width": 2.5}], "y": [true, false]}',
        b'{"rows": [{"width": 1.5, "height": 2}], "columns": {"width": "numeric"}}',
    ],
    "text/csv": [
        b"width,height,y\n1,2.5,a\n2,3.5,b\n3,4,a\n4,5,b\n",
        "\ufeffpatient;größe;y\r\n1;1,5;ä\r\n2;2,5;ö\r\n3;;ä\r\n4;NA;ö\r\n".encode(),
        b'"a ""b""",c,y\n"1","x, y",0\n"2","x\ny",1\n3,z,0\n4,z,1\n',
        "width\theight\n1\t2\n".encode("utf-16"),
    ],
    "application/x-npy": [npy(ROWS), npy(ROWS.astype(">f4")), npy(np.asfortranarray(ROWS)), npy(LABELS)],
    "application/x-npz": [
        archive({"X": npy(ROWS), "y": npy(LABELS)}),
        archive(
            {"X": npy(ROWS), "y": npy(LABELS), "feature_names": npy(np.array(["a", "b", "c"]))}, zipfile.ZIP_DEFLATED
        ),
    ],
    "application/vnd.apache.arrow.stream": [
        stream_of(pa.table(COLUMNS)),
        ipc_file_of(pa.table(COLUMNS)),
        ipc_file_of(pa.table(COLUMNS), compression="zstd"),
        stream_of(pa.table({"width": ROWS[:, 0], "height": pa.array(range(8), pa.int8()), "y": LABELS})),
        stream_of(repeated("red", 8)),
    ],
    "application/vnd.apache.parquet": [
        parquet_of(pa.table(COLUMNS)),
        parquet_of(pa.table({"width": ROWS[:, 0], "y": LABELS}), compression="none", use_dictionary=False),
    ],
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": [
        workbook({"a": SHEET}),
        workbook({"a": [], "b": [["title"], [], *SHEET]}, first_column=1),
    ],
}
HOSTILE: dict[str, list[bytes]] = {
    "application/json": [
        b"",
        b"[" * DEEP,
        b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        b'{"X": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"X": [[1' + b"0" * LONG + b"]]}",
        b'{"X": [[1e999, -1e999, NaN, Infinity]]}',
        b'{"X": [[0.' + b"1" * LONG + b"]]}",
        b'{"X": [' + b"[]," * LONG + b"[]]}",
        b'{"X": [[' + b"1," * LONG + b"1]]}",
        b'{"rows": [' + b"{}," * LONG + b"{}]}",
        b'{"rows": [{"\\ud800": 1}], "y": ["\\udfff"]}',
        b'{"rows": [{"a\\u0000b": "\\u0000"}, {"": ""}]}',
        b'{"y": [' + b"9" * 30 + b"], " + b'"X": [[1]]}',
        b'{"X": [[1]], "X": "again", "metadata": {"a": 1}}',
        json.dumps({"X": [[1.0]] * 20_001, "y": ["x" * LONG] + ["a", "b"] * 10_000}).encode(),
        json.dumps({"rows": [{"width": 1, "y": "x" * LONG}] + [{"width": 2, "y": "a"}] * 20_000}).encode(),
        "\ufeff{}".encode(),
        "{}".encode("utf-32"),
        b'{"X": [[1]], "columns": {"x": "\xff"}}',
    ],
    "text/csv": [
        b"",
        b"\n" * LONG,
        b"," * LONG + b"\n1",
        b"a\n" + b"1" * LONG,
        b'a\n"' + b"1" * LONG,
        b"a,a,a\n1,2,3",
        b"a," * LONG + b"b\n1",
        b"width,y\n1," + b"x" * LONG + b"\n" + b"1,a\n2,b\n" * 10_000,
        b'"' + b"a" * LONG + b'",y\n1,a\n',
        b"\x00" * 100,
        b"a\n\xff\xfe\xfd",
        b"a;b,c\td|e\n" * 20,
        b"a,y\n" + b"1e400,x\n-1e400,y\n" * 3,
        b"a,y\n" + b"9" * 400 + b",x\n" + b"1_000,y\n",
        b'"' * 1_001,
        "a,y\n١٢٣,x\n\u2028,y\n".encode(),
    ],
    "application/x-npy": [
        b"",
        b"\x93NUMPY",
        npy_of("(1000000000000, 3)"),
        npy_of("(1000000000000, 3)", "'<U0'"),
        npy_of("(0, 1000000000000000000)"),
        npy_of("(1000000000000000000, 0)"),
        npy_of("(-1, -8)", data=b"\0" * 64),
        npy_of(f"({10**30}, 0)"),
        npy_of("(1,) * 100000"),
        npy_of("(True, 1)", data=b"\0" * 8),
        npy_of("(1, 1)", "'|O'", b"\x80\x04K\x01."),
        npy_of("(1, 1)", "[('a', '<f8')]", b"\0" * 8),
        npy_of("(1, 1)", "'<U1000000000'"),
        npy_of("(2, 2)", "'<M8[s]'", b"\0" * 32),
        npy_of("(1, 1)", "'<f16'", b"\0" * 16),
        npy_of("(1, 1)", "'<U1'", b"\xff\xff\xff\xff"),
        npy_file("(" * 5_000),
        npy_file("__import__('os').system('false')"),
        npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}" + " " * 60_000, b"\0" * 8),
        npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", b"\0" * 8, version=3),
        npy(np.full((2, 3), np.nan)),
    ],
    "application/x-npz": [
        b"PK\x05\x06" + b"\0" * 18,
        archive({"X": npy(np.zeros((2_000, 1_000)))}, zipfile.ZIP_DEFLATED),
        archive({f"a{index}": npy(np.zeros(100_000)) for index in range(16)}, zipfile.ZIP_DEFLATED),
        archive({"X": npy(np.zeros((500, 500)))}, zipfile.ZIP_LZMA),
        archive({"X": npy(np.zeros((500, 500)))}, zipfile.ZIP_BZIP2),
        archive({f"a{index}": npy(ROWS) for index in range(17)}),
        archive({"X": npy_of("(1, 1)", "'|O'", b"\x80\x04K\x01."), "y": npy(LABELS)}),
        archive({"X": npy(ROWS), "y": npy(np.array(["\ud800"] * 8))}),
        archive({"X": npy(ROWS), "y": npy(ROWS)}),
        archive({"X": npy(ROWS), "y": npy(np.full(8, np.inf)), "feature_names": npy(LABELS)}),
        archive({"X": npy(ROWS), "y": npy(np.full(8, 2**64 - 1, np.uint64))}),
        archive({"X": b"", "y": b"\x93NUMPY"}),
    ],
    "application/vnd.apache.arrow.stream": [
        b"",
        b"\xff" * 64,
        b"\xff\xff\xff\xff\xff\xff\xff\x7f",
        stream_of(pa.table(COLUMNS), compression="zstd"),
        stream_of(repeated("x" * LONG, 100_000)),
        stream_of(pa.table({"width": RUNS, "height": RUNS})),
        stream_of(pa.table({"color": VIEWS})),
        stream_of(of_types(*[pa.null()] * 200, n_rows=10_000)),
        stream_of(of_types(*[pa.bool_()] * 200, n_rows=10_000)),
        stream_of(of_types(pa.float16(), pa.decimal128(38, 3), pa.decimal256(76), pa.date32(), pa.time64("ns"))),
        stream_of(of_types(pa.timestamp("us", "Europe/Warsaw"), pa.timestamp("s", "nowhere"), pa.duration("ms"))),
        stream_of(of_types(pa.list_(pa.float64()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8()))),
        stream_of(of_types(pa.binary(), pa.large_binary(), pa.large_string(), pa.binary(3), pa.list_(pa.int8(), 2))),
        stream_of(of_types(pa.dense_union([pa.field("a", pa.int8())]), pa.month_day_nano_interval(), n_rows=0)),
        stream_of(pa.table({"a": pa.array([2**63 - 1, -(2**63)]), "b": pa.array([2**64 - 1, 0], pa.uint64())})),
        stream_of(pa.table({"a": pa.array([b"\xff"], pa.binary()), "b": pa.array([float("nan")])})),
        stream_of(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])),
    ],
    "application/vnd.apache.parquet": [
        b"",
        b"PAR1PAR1",
        b"PAR1" + b"\xff" * 40 + b"\xff\xff\xff\x7fPAR1",
        parquet_of(repeated("x" * LONG, 100_000)),
        parquet_of(pa.table({"width": np.zeros(100_000)}), compression="zstd"),
        parquet_of(of_types(*[pa.bool_()] * 200, n_rows=10_000)),
        parquet_of(of_types(*[pa.null()] * 200, n_rows=10_000)),
        parquet_of(of_types(pa.list_(pa.float64()), pa.struct([("a", pa.int8())]), pa.decimal128(38, 3), pa.binary())),
        parquet_of(pa.table({"": [1.0], "/~": [2.0]})),
    ],
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": [
        b"",
        b"PK\x03\x04",
        archive({"X": npy(ROWS)}),
        workbook({}),
        workbook({"a": []}),
        workbook({"a": [["x" * LONG]]}),
        workbook({"a": [["a", "a"], [1, 2]]}),
        workbook({"a": [["x"]]}, first_column=16_000, first_row=1_000_000),
        workbook({"a": [["width", "y"]] + [[None, None]] * 1000}),
        workbook({"a": [[1e308, -1e308, 5e-324], ["\x00", "\ud7ff", "=1+1"]]}),
    ],
}
