"""Sheets as CSV: headers found, cells as they are meant, rows on the lines that Excel shows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest

from melm.tables.excel import ExcelError, NotExcel, to_csv
from tests.workbooks import Cell, workbook

TABLE: list[list[Cell]] = [["name", "size"], ["a", 1.5], ["b", 2]]


def lines(rows: Sequence[Sequence[Cell]], **place: int) -> list[str]:
    return to_csv(workbook({"sheet": rows}, **place)).decode().splitlines()


def test_cells_are_written_as_they_are_meant() -> None:
    rows: list[list[Cell]] = [
        ["id", "size", "day", "moment", "flag", "price", "note"],
        ["007", 5.0, dt.date(2024, 1, 5), dt.datetime(2024, 1, 5), True, "1,234", "a, b"],
        ["008", 0.1, dt.date(2024, 2, 29), dt.datetime(2024, 1, 5, 10, 30), False, "$9,879.00", 'c "d"'],
        ["009", -1e-7, None, None, None, "4.0%", "two\nlines"],
        ["010", 2.0**60, None, None, None, None, None],
    ]
    assert lines(rows) == [
        "id,size,day,moment,flag,price,note",
        '007,5,2024-01-05,2024-01-05 00:00:00,true,"1,234","a, b"',
        '008,0.1,2024-02-29,2024-01-05 10:30:00,false,"$9,879.00","c ""d"""',
        '009,-1e-07,,,,4.0%,"two',
        'lines"',
        "010,1.152921504606847e+18,,,,,",
    ]


def test_a_table_may_begin_anywhere() -> None:
    assert lines(TABLE, first_column=2, first_row=3) == ["", "", "", "name,size", "a,1.5", "b,2"]


def test_titles_above_the_header_are_passed_over() -> None:
    titles: list[list[Cell]] = [["Report of 2024"], [], ["made on", None], []]
    assert lines([*titles, *TABLE]) == ["", "", "", "", "name,size", "a,1.5", "b,2"]


def test_empty_rows_and_columns() -> None:
    rows: list[list[Cell]] = [["name", None, "size"], ["a", None, 1], [], ["b", None, 2]]
    assert lines(rows) == ["name,size", "a,1", "", "b,2"]


def test_a_column_without_a_name_is_kept_where_it_has_cells() -> None:
    assert lines([["name", None, "size"], ["a", "x", 1]]) == ["name,,size", "a,x,1"]


def test_names_over_several_columns_are_joined_to_those_below() -> None:
    rows: list[list[Cell]] = [
        [None, "bill", None, "flipper"],
        ["species", "length", "depth", "length"],
        ["a", 1, 2, 3],
    ]
    assert lines(rows) == ["", "species,bill length,bill depth,flipper length", "a,1,2,3"]


def test_units_below_the_names_are_joined_to_them() -> None:
    rows: list[list[Cell]] = [["species", "length", "depth"], [None, "mm", "cm"], ["a", 1, 2], ["b", 1, 2]]
    assert lines(rows) == ["", "species,length mm,depth cm", "a,1,2", "b,1,2"]


def test_a_row_of_text_is_no_header_where_all_is_text() -> None:
    rows: list[list[Cell]] = [["kind", "color"], ["a", "red"], ["b", "blue"]]
    assert lines(rows) == ["kind,color", "a,red", "b,blue"]


def test_a_row_of_missing_values_is_no_header() -> None:
    rows: list[list[Cell]] = [["length", "depth"], ["n/a", "n/a"], [1, 2]]
    assert lines(rows) == ["length,depth", "n/a,n/a", "1,2"]


def test_a_header_alone() -> None:
    assert lines([["name", "size"]]) == ["name,size"]


def test_a_sheet_is_chosen() -> None:
    sheets: dict[str, list[list[Cell]]] = {"empty": [], "first": [["a"], [1]], "second": [["b"], [2]]}
    assert to_csv(workbook(sheets)) == b"a\n1\n"
    assert to_csv(workbook(sheets), "second") == b"b\n2\n"
    with pytest.raises(ExcelError, match="no sheet 'third'") as caught:
        to_csv(workbook(sheets), "third")
    assert caught.value.advice == "sheets: 'empty', 'first', 'second'"
    with pytest.raises(ExcelError, match="no cells"):
        to_csv(workbook(sheets), "empty")


@pytest.mark.parametrize("data", [b"", b"no such thing", b"PK\x03\x04", workbook({"a": [["b"]]})[:-100]])
def test_other_bytes(data: bytes) -> None:
    with pytest.raises(NotExcel):
        to_csv(data)
