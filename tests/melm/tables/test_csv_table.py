"""CSV as it is found: any dialect reads back equal, and everything that is wrong is said at once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from melm.tables import csv_table
from melm.tables.csv_table import CsvReader, read_csv
from melm.tables.options import ReadOptions
from melm.tables.problem import Severity
from melm.tables.table import Table
from melm.tables.transcoding import CsvError

WORDS = st.sampled_from(["red", "blau", "größe 5", "a;b,c\td", 'she said "no"', "two\nlines", "x", "0123", "none"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)
MISSING = st.sampled_from(["", "NA", "NaN", "null", "?"])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[float | str | None]]:
    """A column of numbers and one of words, both with gaps, and a column of whole numbers."""
    n_rows = draw(st.integers(3, 30))
    numbers = draw(st.lists(NUMBERS | st.none(), min_size=n_rows, max_size=n_rows))
    words = draw(st.lists(WORDS | st.none(), min_size=n_rows, max_size=n_rows))
    return {
        "numbers": [0.5, *numbers[1:]],
        "words": ["red", *words[1:]],
        "count": [float(i % 3) for i in range(n_rows)],
    }


@given(
    table=tables(),
    delimiter=st.sampled_from([",", ";", "\t"]),
    decimal_comma=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    quote_all=st.booleans(),
    missing=MISSING,
    piece=st.integers(1, 200),
)
def test_a_table_written_in_any_dialect_reads_back_equal(
    table: dict[str, list[float | str | None]],
    delimiter: str,
    decimal_comma: bool,
    line_end: str,
    mark: bool,
    quote_all: bool,
    missing: str,
    piece: int,
) -> None:
    decimal = "," if decimal_comma and delimiter != "," else "."
    content = write(table, delimiter, decimal, line_end, missing, quote_all).encode("utf-8-sig" if mark else "utf-8")
    options = ReadOptions(delimiter=delimiter, decimal=decimal)
    read = read_csv(pieces(content, piece), options)
    assert read.names == ("numbers", "words", "count")
    assert read.number_names == ("numbers", "count")
    assert {name: read.cells(name) for name in read.names} == table


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_the_dialect_is_found_out(delimiter: str, decimal: str) -> None:
    values = np.random.default_rng(0).standard_normal((20, 3)).round(3)
    columns: dict[str, list[float | str | None]] = {f"x{j}": values[:, j].tolist() for j in range(3)}
    content = write(columns, delimiter, decimal, "\r\n", "", quote_all=decimal == delimiter)
    assert np.array_equal(read_text(content).numbers, values)


def test_other_encodings() -> None:
    text = "größe;länge\n1,5;2\n2,5;3\n"
    assert read_csv([text.encode("utf-16")]).names == ("größe", "länge")
    assert read_csv([text.encode("latin-1")], ReadOptions(encoding="latin-1")).names == ("größe", "länge")
    with pytest.raises(CsvError) as caught:
        read_csv([text.encode("latin-1")], ReadOptions(encoding="utf-8"))
    assert "encoding=" in str(caught.value.problems[0].fix)


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_what_is_not_utf_8_is_taken_for_what_windows_writes(piece: int) -> None:
    text = "größe;preis\n" + "1,5;2 €\n" * 3
    reader = CsvReader()
    for chunk in pieces(text.encode("cp1252"), piece):
        reader.feed(chunk)
    table = reader.finish_with_problems()
    assert table is not None
    assert (table.names, table.cells("preis"), reader.encoding) == (("größe", "preis"), [2, 2, 2], "cp1252")
    (question,) = reader.problems
    assert (question.level, question.fixes[0].value) == (Severity.QUESTION, "cp1252")
    assert "'größe'" in question.detail or piece == 1
    utf8 = CsvReader()
    for chunk in pieces(text.encode(), piece):
        utf8.feed(chunk)
    assert utf8.finish().names == table.names
    assert utf8.encoding == "utf-8"


def test_blanks_around_cells_mean_nothing() -> None:
    table = read_text("age, work\n39, State-gov\n 50, ?\n38 , Private\n")
    assert table.cells("age") == [39, 50, 38]
    assert table.cells("work") == ["State-gov", None, "Private"]


def test_digits_that_are_no_numbers_are_kept() -> None:
    table = read_text("id,zip\n90071992547409930001,01234\n90071992547409930002,99999\n")
    assert table.cells("id") == ["90071992547409930001", "90071992547409930002"]
    assert table.cells("zip") == ["01234", "99999"]


def test_what_begins_like_an_id_may_be_numbers_after_all() -> None:
    rows = "".join(f"{i},{i % 3}\n" for i in range(1, 6))
    table = read_text(f"time,x\n{rows}5.5,1\n7,2\n")
    assert table.cells("time") == [1, 2, 3, 4, 5, 5.5, 7]


def test_all_problems_at_once_with_row_column_and_remedy() -> None:
    rows = [f"{i},{i * 0.5}" for i in (3, 1, 2, 5, 4, 9, 8, 7, 6, 0)]
    rows[2] = "2"
    rows[4] = "4,unknown"
    rows[6] = "8,1,1"
    rows[8] = "n.a.,1"
    with pytest.raises(CsvError) as caught:
        read_text("\n".join(["a,b", *rows]))
    found = {problem.column: problem for problem in caught.value.problems}
    assert {column: (problem.rows, problem.lines) for column, problem in found.items()} == {
        None: ((2, 6), (4, 8)),
        "b": ((4,), (6,)),
        "a": ((8,), (10,)),
    }
    assert "delimiter" in str(found[None].fix)
    assert "missing_values='unknown'" in str(found["b"].fix)
    assert "columns={'b': 'categorical'}" in str(found["b"].fix)


def test_the_remedies_work() -> None:
    text = "a,b\n" + "".join(f"{i % 4},{i * 0.5}\n" for i in range(9)) + "1,unknown\n"
    assert read_text(text, missing_values=("unknown",)).cells("b")[-1] is None
    assert read_text(text, columns={"b": "categorical"}).cells("b")[-1] == "unknown"


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "empty"), ("a,b\n", "no rows"), ("a,b\n1,2\n", "no column 'y'")],
)
def test_files_without_a_table(text: str, word: str) -> None:
    with pytest.raises(CsvError, match=word):
        read_text(text, target="y" if "column" in word else None)


def test_options_that_no_file_can_be_written_with() -> None:
    with pytest.raises(CsvError) as caught:
        read_text("a,b\n1,2\n", delimiter="ab", decimal="x", encoding="zip")
    assert len(caught.value.problems) == 3


def test_a_column_without_a_name_gets_one() -> None:
    assert read_text(",x\na,1\nb,2\n").names == ("column 1", "x")


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f'{i % 7}.5,"line {i % 5}\nand more",{"NA" if i % 11 == 0 else i % 3}' for i in range(3000)]
    text = "\n".join(["a,b,c", *rows])
    whole = read_text(text)
    monkeypatch.setattr(csv_table, "BLOCK_BYTES", 1000)
    in_blocks = read_csv(pieces(text.encode(), 77))
    assert np.array_equal(whole.numbers, in_blocks.numbers, equal_nan=True)
    assert np.array_equal(whole.codes, in_blocks.codes)
    assert whole.categories == in_blocks.categories


def test_a_table_of_text_alone_has_rows() -> None:
    table = read_text("a,b\nx,y\nz,y\n")
    assert (len(table), table.number_names, table.categories) == (2, (), (("x", "z"), ("y",)))


def test_spilled_to_files_the_table_is_the_same() -> None:
    rows = [f"{index},{index % 7}.5,{'cab'[index % 3]},{index if index < 20 else 0.5}" for index in range(3000)]
    content = "\n".join(["id,size,color,grows", *rows]).encode()
    spilled = CsvReader(spill_bytes=0)
    spilled.feed(content)
    table, expected = spilled.finish(), read_csv([content])
    assert table.number_names == expected.number_names == ("size", "grows")
    assert np.array_equal(table.numbers, expected.numbers)
    assert np.array_equal(table.codes, expected.codes)
    assert table.categories == expected.categories


def test_thousands_of_columns() -> None:
    values = np.random.default_rng(0).standard_normal((20, 4000))
    header = ",".join(f"c{j}" for j in range(4000))
    text = "\n".join([header, *(",".join(map(repr, row)) for row in values.tolist())])
    assert np.array_equal(read_text(text).numbers, values)


def read_text(text: str, **options: object) -> Table:
    """A table out of one piece."""
    return read_csv([text.encode()], ReadOptions(**options))  # type: ignore[arg-type]  # each test knows its own


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    """A file as it arrives."""
    return (content[begin : begin + size] for begin in range(0, len(content), size))


def write(
    table: dict[str, list[float | str | None]],
    delimiter: str,
    decimal: str,
    line_end: str,
    missing: str,
    quote_all: bool,
) -> str:
    """A table as some program would write it."""
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream,
        delimiter=delimiter,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow(
            [missing if v is None else v if isinstance(v, str) else repr(v).replace(".", decimal) for v in row]
        )
    return stream.getvalue()


@pytest.mark.parametrize("cell", ["0.5", '"1,234.5"', "7"])
def test_an_infinite_number_is_told_once(cell: str) -> None:
    text = "x,y\n" + f"{cell},1\n" * 9 + "1e999,2\n2.5,3\n"
    with pytest.raises(CsvError) as caught:
        read_csv([text.encode()])
    (problem,) = caught.value.problems
    assert (problem.column, problem.count, problem.rows) == ("x", 1, (9,))


def test_a_misspelled_column_is_answered_by_the_nearest_name() -> None:
    with pytest.raises(CsvError) as caught:
        read_csv([b"width,Species\n1,a\n2,b\n"], ReadOptions(target="spezies", columns={"q*": "ignore"}))
    advice = [str(problem.fix) for problem in caught.value.problems]
    assert [text.startswith("did you mean 'Species'? ") for text in advice] == [False, True]
