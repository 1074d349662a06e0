"""Columns of Arrow, Parquet, pandas and polars, of every type that a table may have."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather

from melm.tables import arrow
from melm.tables.arrow import ArrowError, NotArrow
from melm.tables.files import ARROW, format_of
from tests.fuzz.bodies import parquet_of, stream_of

DAY, OTHER = dt.date(2024, 1, 10), dt.date(2024, 1, 5)
MIDNIGHT = dt.datetime(2024, 1, 5)
MOMENT = dt.datetime(2024, 1, 10, 10, 0, 0, 120_000)
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "floats": (pa.array([1.5, None, 3.0]), [1.5, None, 3.0]),
    "half": (pa.array(np.array([1, 2, 3], np.float16)), [1, 2, 3]),
    "whole": (pa.array([1, 2, None], pa.uint8()), [1, 2, None]),
    "long": (pa.array([2**60, 1, None]), [str(2**60), "1", None]),
    "unsigned": (pa.array([2**64 - 1, None, 1], pa.uint64()), [str(2**64 - 1), None, "1"]),
    "flags": (pa.array([True, None, False]), [1, None, 0]),
    "decimals": (pa.array([Decimal("1.25"), None, Decimal("-3.5")]), [1.25, None, -3.5]),
    "text": (pa.array(["x", None, "a"]), ["x", None, "a"]),
    "large": (pa.array(["x", "y", None], pa.large_string()), ["x", "y", None]),
    "bytes": (pa.array([b"x", b"y", None]), ["x", "y", None]),
    "codes": (pa.array(["u", None, "a"]).dictionary_encode(), ["u", None, "a"]),
    "coded numbers": (pa.array([5, None, 7]).dictionary_encode(), [5, None, 7]),
    "days": (pa.array([DAY, None, OTHER]), ["2024-01-10", None, "2024-01-05"]),
    "moments": (
        pa.array([MOMENT, None, MIDNIGHT], pa.timestamp("ns")),
        ["2024-01-10 10:00:00.12", None, f"{OTHER} 00:00:00"],
    ),
    "midnights": (pa.array([None, MIDNIGHT, MIDNIGHT], pa.timestamp("ms")), [None, "2024-01-05", "2024-01-05"]),
    "zoned": (
        pa.array([MOMENT, None, None], pa.timestamp("us", "Europe/Berlin")),
        ["2024-01-10 10:00:00.12", None, None],
    ),
    "times": (pa.array([dt.time(10, 0, 30), None, dt.time(1)]), ["10:00:30", None, "01:00:00"]),
    "spans": (pa.array([dt.timedelta(minutes=1), None, dt.timedelta(0)]), [60, None, 0]),
    "nothing": (pa.nulls(3), [None, None, None]),
}
ONLY_IN_STREAMS: dict[str, tuple[Any, list[Any]]] = {
    "views": (pa.array(["x", None, "z"], pa.string_view()), ["x", None, "z"]),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([1.5, None])), [1.5, None, None]),
    "coded nothing": (pa.DictionaryArray.from_arrays(pa.array([0, 0, None], pa.int32()), pa.nulls(1)), [None] * 3),
}


def check(found: Any, expected: dict[str, tuple[Any, list[Any]]]) -> None:
    assert found.names == tuple(expected)
    assert {name: found.cells(name) for name in found.names} == {name: cells for name, (_, cells) in expected.items()}


def test_every_type_in_a_stream() -> None:
    columns = COLUMNS | ONLY_IN_STREAMS
    table = pa.table({name: column for name, (column, _) in columns.items()})
    check(arrow.read_stream(stream_of(table)), columns)
    check(arrow.read_stream(stream_of(pa.concat_tables([table.slice(0, 1), table.slice(1)]))), columns)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_every_type_in_an_ipc_file(compression: str) -> None:
    """Feather, as pandas and polars write it."""
    table = pa.table({name: column for name, (column, _) in COLUMNS.items()})
    file = io.BytesIO()
    feather.write_feather(table, file, compression=compression, chunksize=2)
    assert format_of(file.getvalue()[:100]) is ARROW
    check(arrow.read_stream(file.getvalue()), COLUMNS)


def test_every_type_in_a_file() -> None:
    table = pa.table({name: column for name, (column, _) in COLUMNS.items()})
    for options in (
        {},
        {"use_dictionary": False, "row_group_size": 2},
        {"compression": "zstd", "data_page_version": "2.0"},
    ):
        check(arrow.read_parquet(parquet_of(table, **options)), COLUMNS)


def test_many_rows_come_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 100)
    numbers = np.random.default_rng(0).standard_normal((1000, 3))
    found = arrow.read_parquet(parquet_of(pa.table(dict(zip("abc", numbers.T, strict=True)))))
    assert np.array_equal(found.numbers, numbers)


def test_labels_are_text_where_that_is_asked_for() -> None:
    table = pa.table({"y": [True, False], "x": [1.0, 2.0]})
    assert arrow.from_arrow(table, text=["y"]).cells("y") == ["true", "false"]


def frame() -> Any:
    return pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0],
            "kind": pd.Categorical(["x", "y", None]),
            "day": pd.to_datetime(["2024-01-01", "2024-02-01", None]),
            "text": ["x", None, "z"],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_in_memory(kind: str) -> None:
    made = {"pandas": frame(), "polars": pl.from_pandas(frame()), "pyarrow": pa.Table.from_pandas(frame())}
    found = arrow.from_frame(made[kind])
    assert {name: found.cells(name) for name in found.names} == {
        "number": [1, None, 3],
        "kind": ["x", "y", None],
        "day": ["2024-01-01", "2024-02-01", None],
        "text": ["x", None, "z"],
        "whole": [1, None, 3],
        "flag": [1, None, 0],
    }


def test_the_index_of_a_data_frame_is_no_column() -> None:
    """As it is left by a sample or by a split into training and test rows."""
    shuffled = frame().assign(mixed=["x", 2, None]).loc[[2, 0, 1]]
    found = arrow.from_frame(shuffled)
    assert found.names == tuple(shuffled.columns)
    assert found.cells("number") == [3, 1, None]
    assert found.cells("mixed") == [None, "x", "2"]


def test_polars_has_categories_of_its_own() -> None:
    found = arrow.from_frame(pl.DataFrame({"kind": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"]))}))
    assert found.cells("kind") == ["b", None, "a"]


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), "unique|named twice: a"),
        (pa.table({"lists": [[1]]}), "holds list"),
        (pa.table({"things": [{"a": 1}]}), "holds struct"),
        ([1, 2], "Unsupported"),
    ],
)
def test_what_no_table_has(table: Any, word: str) -> None:
    with pytest.raises(ArrowError, match=word):
        arrow.from_frame(table)


def test_problems_name_their_columns() -> None:
    with pytest.raises(ArrowError) as caught:
        arrow.from_arrow(pa.table({"a": [[1]], "b": [1.0], "c": [{"d": 1}]}))
    assert [column for column, _, _ in caught.value.problems] == ["a", "c"]


@pytest.mark.parametrize("read", [arrow.read_stream, arrow.read_parquet])
@pytest.mark.parametrize("data", [b"", b"no such thing", b"PAR1" * 10])
def test_other_bytes(read: Any, data: bytes) -> None:
    with pytest.raises(NotArrow):
        read(data)


def test_text_that_is_none_is_no_text() -> None:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"name": [b"\xff\xfe"]}), sink)
    with pytest.raises(NotArrow, match=r"(?i)utf"):
        arrow.read_parquet(sink.getvalue())
