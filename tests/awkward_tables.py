"""Small files that are awkward to read, each with the one reading that is right.

`columns` gives for each column its role and the values of its first rows, as the stored rows are given back; a column
that is left out has no values.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tests.workbooks import workbook

N_ROWS = 12
Values = Sequence[Any]


@dataclass(frozen=True)
class Awkward:
    """A file, what its sender says of it, and how it is to be read."""

    name: str
    content: bytes
    columns: dict[str, tuple[str, Values]]
    options: dict[str, Any] = field(default_factory=lambda: {"target": "y"})
    ending: str = "csv"
    n_rows: int = N_ROWS


def lines(header: str, *cells: str, ends: str = "\n", n_rows: int = N_ROWS) -> bytes:
    """CSV with a column of numbers before and a column of classes behind some rows that are repeated.

    `{i}` is the number of the row, `{x}` has decimals that neither increase nor fall.
    """
    rows = [
        cells[i % len(cells)].replace("{i}", str(i)).replace("{x}", f"{(i * 7 % 12) / 4 + 0.5}") for i in range(n_rows)
    ]
    return ends.join([header, *(f"{row}{'uv'[i % 2]}" for i, row in enumerate(rows)), ""]).encode()


X = ("numeric", [0.5, 2.25, 1.0])
Y = ("target", ["u", "v", "u"])


def with_x(header: str, *cells: str, separator: str = ",") -> bytes:
    """Lines of x, some cells, and y."""
    whole = separator.join(["x", header, "y"])
    return lines(whole, *(separator.join(["{x}", cell, ""]) for cell in cells))


def wide(n_columns: int) -> bytes:
    """Two rows by turns."""
    quarters, halves = (
        ",".join(f"{j + 0.25}" for j in range(n_columns)),
        ",".join(f"{j / 2}" for j in range(n_columns)),
    )
    return lines(",".join([*(f"x{j}" for j in range(n_columns)), "y"]), f"{quarters},", f"{halves},")


def sheet_rows() -> list[list[Any]]:
    return [[(i * 7 % 12) / 4 + 0.5, i % 3, "uv"[i % 2]] for i in range(N_ROWS)]


def as_parquet(table: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink, **options)
    return sink.getvalue()


def as_arrow(table: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def npz(**arrays: Any) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, allow_pickle=False, **arrays)
    return sink.getvalue()


NUMBERS = [row[0] for row in sheet_rows()]
CLASSES = [row[2] for row in sheet_rows()]
DAYS = [dt.date(2024, 1 + i % 3, 5 + i) for i in range(N_ROWS)]
COLORS = pa.array(["red", "blue", None] * 4).dictionary_encode()
ROWS = [{"x": x, "color": [None, "red", "blue"][i % 3], "y": CLASSES[i]} for i, x in enumerate(NUMBERS)]
for row in ROWS[::3]:
    del row["color"]

AWKWARD = [
    # How the cells are separated, and in which encoding they are written.
    Awkward(
        "semicolons and decimal commas",
        lines("x;z;y", "0,5;1;", "2,25;2;"),
        {"x": ("numeric", [0.5, 2.25]), "z": ("numeric", [1, 2]), "y": Y},
    ),
    Awkward("tabs", lines("x\tz\ty", "{x}\t1\t", "{x}\t2\t"), {"x": X, "z": ("numeric", [1, 2]), "y": Y}, ending="tsv"),
    Awkward("bars", with_x("z", "1", "2", separator="|"), {"x": X, "z": ("numeric", [1, 2]), "y": Y}),
    Awkward("CRLF and a byte-order mark", b"\xef\xbb\xbf" + lines("x,y", "{x},", ends="\r\n"), {"x": X, "y": Y}),
    Awkward(
        "UTF-16 with its mark",
        lines("x,größe,y", "{x},1,", "{x},2,").decode().encode("utf-16"),
        {"x": X, "größe": ("numeric", [1, 2]), "y": Y},
    ),
    Awkward(
        "cp1252",
        lines("x,größe,y", "{x},klein,", "{x},groß,").decode().encode("cp1252"),
        {"x": X, "größe": ("categorical", ["klein", "groß"]), "y": Y},
    ),
    Awkward(
        "Latin-1 with undefined bytes of cp1252",
        with_x("z", "caf\u0081é", "thé").decode().encode("latin-1"),
        {"x": X, "z": ("categorical", ["caf\u0081é", "thé"]), "y": Y},
    ),
    Awkward(
        "Cyrillic, with its encoding named",
        with_x("цвет", "красный", "синий").decode().encode("cp1251"),
        {"x": X, "цвет": ("categorical", ["красный", "синий"]), "y": Y},
        {"target": "y", "encoding": "cp1251"},
    ),
    Awkward(
        "line breaks and separators inside quotes",
        with_x("z", '"a\nb, ""c"""', '"d;e"'),
        {"x": X, "z": ("categorical", ['a\nb, "c"', "d;e"]), "y": Y},
    ),
    Awkward(
        "blanks around cells and names",
        lines(" x , z ,y", " {x} , a ,", "{x},b ,"),
        {"x": X, "z": ("categorical", ["a", "b"]), "y": Y},
    ),
    Awkward("empty lines between rows", b"\n" + lines("x,y", "{x},", ends="\n\n") + b"\n\n", {"x": X, "y": Y}),
    Awkward("no line end after the last row", lines("x,y", "{x},").rstrip(), {"x": X, "y": Y}),
    # Marks in numbers.
    Awkward(
        "quoted thousands",
        with_x("price", '"20,970"', "950", '"1,200"'),
        {"x": X, "price": ("numeric", [20970, 950, 1200]), "y": Y},
    ),
    Awkward(
        "points between thousands",
        lines("x;z;y", "0,5;1.234,5;", "2,25;12;"),
        {"x": ("numeric", [0.5, 2.25]), "z": ("numeric", [1234.5, 12]), "y": Y},
    ),
    Awkward(
        "plain numbers below a thousand say that points group",
        lines("x;z;y", "1;1.234;", "2;999;"),
        {"x": ("numeric", [1, 2]), "z": ("numeric", [1234, 999]), "y": Y},
    ),
    Awkward(
        "apostrophes and narrow spaces",
        with_x("z", "1'234", "12\u202f345"),
        {"x": X, "z": ("numeric", [1234, 12345]), "y": Y},
    ),
    Awkward(
        "money and percents",
        with_x("price,share", '"$9,879.00",4.0%', "€12,5.5 %"),
        {"x": X, "price": ("numeric", [9879, 12]), "share": ("numeric", [4, 5.5]), "y": Y},
    ),
    Awkward("signs and exponents", with_x("z", "+1e3", "-2.5E-1"), {"x": X, "z": ("numeric", [1000, -0.25]), "y": Y}),
    # Dates and times.
    Awkward(
        "ISO days", with_x("day", *map(str, DAYS)), {"x": X, "day": ("time", ["2024-01-05", "2024-02-06"]), "y": Y}
    ),
    Awkward(
        "days first, as one of them proves",
        with_x("day", "03/04/2024", "31/12/2024", "05/06/2024"),
        {"x": X, "day": ("time", ["2024-04-03", "2024-12-31"]), "y": Y},
    ),
    Awkward(
        "days first, as its sender says",
        with_x("day", "03/04/2024", "04/05/2024"),
        {"x": X, "day": ("time", ["2024-04-03", "2024-05-04"]), "y": Y},
        {"target": "y", "day_first": True},
    ),
    Awkward(
        "points in dates",
        with_x("day", "3.4.2024", "24.12.2024"),
        {"x": X, "day": ("time", ["2024-04-03", "2024-12-24"]), "y": Y},
    ),
    Awkward(
        "names of months and clocks",
        with_x("at", "3 Apr 2024 14:30", "24 December 2024 09:00"),
        {"x": X, "at": ("time", ["2024-04-03T14:30:00", "2024-12-24T09:00:00"]), "y": Y},
    ),
    # What is missing.
    Awkward(
        "signs for missing values",
        with_x("z", "1", "NA", "-", "?", "3", "null"),
        {"x": X, "z": ("numeric", [1, None, None]), "y": Y},
    ),
    Awkward(
        "a sign of one's own",
        with_x("z", "1", "-999", "3"),
        {"x": X, "z": ("numeric", [1, None, 3]), "y": Y},
        {"target": "y", "missing_values": ["-999"]},
    ),
    Awkward(
        "rows without a label",
        with_x("z", "1", "2") + b"0.5,1,\n0.75,2,NA\n",
        {"x": X, "z": ("numeric", [1, 2]), "y": Y},
    ),
    Awkward(
        "none is a category",
        with_x("color", "none", "red"),
        {"x": X, "color": ("categorical", ["none", "red"]), "y": Y},
    ),
    # What columns are for.
    Awkward("zip codes", with_x("zip", "01673", "12345"), {"x": X, "zip": ("categorical", ["01673", "12345"]), "y": Y}),
    Awkward("an index without a name", lines(",x,y", "{i},{x},"), {"column 1": ("id", [0, 1]), "x": X, "y": Y}),
    Awkward(
        "an id by its name",
        with_x("patient_id", *(f"P{i * 5 % 12}" for i in range(N_ROWS))),
        {"x": X, "patient_id": ("id", ["P0", "P5"]), "y": Y},
    ),
    Awkward(
        "ids by a pattern",
        with_x("code", *(f"{hash_of}-{i}" for i, hash_of in enumerate("abcabcabcabc"))),
        {"x": X, "code": ("id", ["a-0", "b-1"]), "y": Y},
    ),
    Awkward(
        "whole numbers too long for floats",
        with_x("id", *(str(2**60 + i * 5 % 12) for i in range(N_ROWS))),
        {"x": X, "id": ("id", [str(2**60), str(2**60 + 5)]), "y": Y},
    ),
    Awkward(
        "years that increase",
        lines("x,year,y", *(f"{{x}},{2000 + i}," for i in range(N_ROWS))),
        {"x": X, "year": ("numeric", [2000, 2001]), "y": Y},
    ),
    Awkward("yes and no", with_x("smoker", "yes", "No"), {"x": X, "smoker": ("categorical", ["yes", "No"]), "y": Y}),
    Awkward(
        "free text",
        lines("x,note,y", *(f"{{x}},remark {i % 23} of some length," for i in range(24)), n_rows=24),
        {"x": X, "note": ("ignore", []), "y": Y},
        n_rows=24,
    ),
    Awkward(
        "a constant column and an empty one",
        lines("a,z,w,y", "{x},7,,"),
        {"a": X, "z": ("ignore", []), "w": ("ignore", []), "y": Y},
    ),
    Awkward("equal column names", lines("x,x,y", "{x},1,", "{x},2,"), {"x": X, "x (2)": ("numeric", [1, 2]), "y": Y}),
    Awkward("equal columns", lines("b,z,y", "{x},{x},"), {"b": X, "z": ("ignore", []), "y": Y}),
    Awkward(
        "roles by a pattern",
        with_x("q1,q2", "1,2", "3,4"),
        {"x": X, "q1": ("ignore", []), "q2": ("numeric", [2, 4]), "y": Y},
        {"target": "y", "columns": {"q*": "ignore", "q2": "numeric"}},
    ),
    Awkward(
        "a column that is only shown",
        with_x("town", "Rom", "Oslo"),
        {"x": X, "town": ("info", ["Rom", "Oslo"]), "y": Y},
        {"target": "y", "columns": {"town": "info"}},
    ),
    Awkward(
        "rare classes made one",
        with_x("z", "1", "2") + b"1,2,w\n1,1,q\n",
        {"x": X, "z": ("numeric", [1, 2]), "y": Y},
        {"target": "y", "rare_classes": "merge"},
        n_rows=14,
    ),
    Awkward(
        "rows with missing values left out",
        with_x("z", "1", "2", "", "3"),
        {"x": ("numeric", [0.5, 2.25, 2.75]), "z": ("numeric", [1, 2, 3]), "y": ("target", ["u", "v", "v"])},
        {"target": "y", "drop_missing": True},
        n_rows=9,
    ),
    Awkward("one column beside the classes", lines("x,y", "{x},"), {"x": X, "y": Y}),
    Awkward("wide", wide(500), {f"x{j}": ("numeric", [j + 0.25, j / 2]) for j in range(500)} | {"y": Y}),
    Awkward("long", lines("x,y", "{x},", n_rows=5000), {"x": X, "y": Y}, n_rows=5000),
    Awkward(
        "numbers as classes",
        lines("x,n,y", "{x},1,", "{x},2,").replace(b"u\n", b"0\n").replace(b"v\n", b"1\n"),
        {"x": X, "n": ("numeric", [1, 2]), "y": ("target", [0, 1])},
    ),
    # Other formats.
    Awkward(
        "Excel with an empty first column and a title",
        workbook(
            {"Data": [["Measured in 2024", None, None], [None, None, None], ["x", "z", "y"], *sheet_rows()]},
            first_column=1,
        ),
        {"x": X, "z": ("numeric", [0, 1, 2]), "y": Y},
        ending="xlsx",
    ),
    Awkward(
        "Excel with two header rows",
        workbook({"Data": [["size", None, None], ["length", "width", "y"], ["cm", "mm", None], *sheet_rows()]}),
        {"length cm": X, "width mm": ("numeric", [0, 1, 2]), "y": Y},
        ending="xlsx",
    ),
    Awkward(
        "Excel, a sheet by its name",
        workbook({"Notes": [["about", "this"]], "Data": [["x", "z", "y"], *sheet_rows()]}),
        {"x": X, "z": ("numeric", [0, 1, 2]), "y": Y},
        {"target": "y", "sheet": "Data"},
        "xlsx",
    ),
    Awkward(
        "Excel with dates and booleans",
        workbook({"Data": [["day", "ok", "y"], *([day, i % 2 == 0, CLASSES[i]] for i, day in enumerate(DAYS))]}),
        {"day": ("time", ["2024-01-05", "2024-02-06"]), "ok": ("categorical", ["true", "false"]), "y": Y},
        ending="xlsx",
    ),
    Awkward(
        "Parquet with categories",
        as_parquet(pa.table({"x": NUMBERS, "color": COLORS, "y": CLASSES})),
        {"x": X, "color": ("categorical", ["red", "blue", None]), "y": Y},
        ending="parquet",
    ),
    Awkward(
        "Parquet of many types, compressed",
        as_parquet(
            pa.table(
                {
                    "x": pa.array(NUMBERS, pa.float32()),
                    "n": pa.array([1, None, 3] * 4, pa.int8()),
                    "day": DAYS,
                    "y": CLASSES,
                }
            ),
            compression="zstd",
        ),
        {"x": X, "n": ("numeric", [1, None, 3]), "day": ("time", ["2024-01-05", "2024-02-06"]), "y": Y},
        ending="parquet",
    ),
    Awkward(
        "Arrow with times in zones",
        as_arrow(
            pa.table(
                {
                    "x": NUMBERS,
                    "at": pa.array(
                        [dt.datetime(2024, 5, 1 + i, 12, tzinfo=dt.UTC) for i in range(N_ROWS)],
                        pa.timestamp("ms", "Europe/Rome"),
                    ),
                    "y": CLASSES,
                }
            )
        ),
        {"x": X, "at": ("time", ["2024-05-01T12:00:00"]), "y": Y},
        ending="arrow",
    ),
    Awkward(
        "JSON rows that leave cells out",
        json.dumps({"rows": ROWS}).encode(),
        {"x": X, "color": ("categorical", [None, "red", "blue"]), "y": Y},
        ending="json",
    ),
    Awkward(
        "a matrix of float32",
        npz(
            X=np.array([NUMBERS, NUMBERS[::-1]], np.float32).T, y=np.array(CLASSES), feature_names=np.array(["x", "z"])
        ),
        {"x": X, "z": ("numeric", [1.75]), "y": Y},
        {},
        "npz",
    ),
]
REFUSED = {
    "no rows": (b"x,y\n", "the CSV has a header and no rows"),
    "an empty file": (b"", "the CSV is empty"),
    "rows too long": (with_x("z", "1") + b"1,2,u,3\n", "there are 4 cells, the header has 3"),
    "a mark that changes": (
        lines("x,y", "0.5,", "1.5,", n_rows=40) + b'"2,5",u\n',
        "has a decimal comma, where the column has a decimal point",
    ),
    "a word among numbers": (
        lines("x,y", "{x},", n_rows=40) + b"oops,u\n",
        "'oops' is not a number, as the others are",
    ),
    "one class": (b"x,y\n1,u\n2,u\n", "there is 1 class, not 2 or more"),
    "classes of one row": (with_x("z", "1") + b"1,1,w\n", "class 'w' has 1 row, fewer than 2"),
    "a quantity as target": (
        b"z,y\n" + b"".join(b"%d,%d.5\n" % (i % 5, i) for i in range(12)),
        "12 classes have 1 row each",
    ),
    "both readings of a mark for sure": (lines("x;z;y", "0,5;1;", "0.5;1;"), "has a decimal"),
}
