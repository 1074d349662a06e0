"""Thousands and decimal marks: by the column, the file, the delimiter, and what stands beside."""

from __future__ import annotations

import pytest

from melm.tables.csv_table import CsvReader, read_csv
from melm.tables.marks import Marks
from melm.tables.options import ReadOptions
from melm.tables.transcoding import CsvError


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [
        *((cell, ".") for cell in ("0.5", "1,234.5", "1,234,567", "1234.567", ".25", "1.5e3", "1'234.50", "$9,879.00")),
        *((cell, ",") for cell in ("0,5", "1.234,5", "1.234.567", "12\u202f345,6", "-0,125", "3,50 €")),
        *((cell, None) for cell in ("1,234", "1.234", "950", "1e5", "red, blue", "2021-01-02", "12,34,56", "1'234")),
    ],
)
def test_sure_cells(cell: str, decimal: str | None) -> None:
    assert Marks.of([cell]).sure == decimal


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param('x,y\n"20,970",1\n950,2\n"1,200",3\n', [20970, 950, 1200], id="commas in quotes group"),
        pytest.param('x,y\n"0,5",1\n"1,234",2\n', [0.5, 1.234], id="the column's own cells come first"),
        pytest.param("x;y\n1.234;0,5\n950;1,5\n", [1234, 950], id="then those of the file"),
        pytest.param("x;y\n1.234;0.5\n950;1.5\n", [1.234, 950], id="whichever they are"),
        pytest.param("x;y\n1.234;1\n950;2\n", [1234, 950], id="plain ones below 1,000 beside open ones"),
        pytest.param("x;y\n1,234;1\n7,125;2\n", [1.234, 7.125], id="nothing tells: the majority of the file"),
        pytest.param("x;y\n1.234;1\n2000;2\n", [1.234, 2000], id="a plain one above 1,000 is not grouped"),
        pytest.param("x;y\n1.234.567;1\n1.234;2\n", [1234567, 1234], id="two groups"),
        pytest.param("x;y\n1'234.5;1\n12’000;2\n", [1234.5, 12000], id="Swiss"),
        pytest.param("x;y\n12\u202f345,5;1\n1 000;2\n", [12345.5, 1000], id="narrow and plain spaces"),
        pytest.param('x,y\n"$9,879.00",1\n$12.50,2\n', [9879, 12.5], id="dollars"),
        pytest.param("x;y\n3,50 €;1\n-1.200,00 €;2\n", [3.5, -1200], id="euros"),
        pytest.param("x,y\n4.0%,1\n12.5 %,2\n", [4, 12.5], id="percents"),
    ],
)
def test_columns(text: str, numbers: list[float]) -> None:
    assert read_csv([text.encode()]).cells("x") == numbers


def test_the_caller_decides_over_all() -> None:
    text = "x;y\n1.234;1\n950;2\n"
    assert read_csv([text.encode()], ReadOptions(decimal=".")).cells("x") == [1.234, 950]


def test_a_cell_that_contradicts_names_both_readings() -> None:
    text = "x;y\n" + "".join(f"{i},5;1\n" for i in range(9)) + "1,234.5;2\n"
    with pytest.raises(CsvError) as caught:
        read_csv([text.encode()])
    (problem,) = caught.value.problems
    assert (problem.rows[0], problem.column) == (9, "x")
    assert "'1,234.5' has a decimal point, where the column has a decimal comma" in problem.detail
    assert "decimal='.'" in str(problem.fix)


def test_both_marks_in_one_column_are_an_error_and_not_text() -> None:
    text = "x;y\n" + "0,5;1\n0.5;2\n" * 5
    with pytest.raises(CsvError) as caught:
        read_csv([text.encode()])
    (problem,) = caught.value.problems
    assert (problem.column, problem.count, problem.rows[0]) == ("x", 5, 0)
    assert "'0,5' has a decimal comma, where the column has a decimal point" in problem.detail


@pytest.mark.parametrize(
    ("text", "detail", "decimals"),
    [
        ("x;y\n1,234;1\n7,125;2\n", "'1,234' may be 1.234 or 1234: it is read as 1.234", [".", ","]),
        ("x;y\n1.234;1\n2000;2\n", "'1.234' may be 1.234 or 1234: it is read as 1.234", [",", "."]),
        ("x;y\n1,234;1\n7,125;0.5\n", None, []),
        ('x,y\n"1,234",1\n"7,125",2\n', None, []),
        ("x;y\n1,234;1\nred;2\nblue;2\n", None, []),
    ],
)
def test_where_nothing_decides_both_readings_are_told(text: str, detail: str | None, decimals: list[str]) -> None:
    reader = CsvReader()
    reader.feed(text.encode())
    reader.finish()
    asked = list(reader.problems)
    assert [problem.detail for problem in asked] == ([] if detail is None else [detail])
    assert [fix.value for problem in asked for fix in problem.fixes] == decimals
