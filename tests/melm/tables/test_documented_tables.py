"""The examples of docs/tables.md are read as the page says."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from melm.tables.csv_table import CsvReader
from melm.tables.options import ReadOptions
from melm.tables.problem import Severity
from melm.tables.reading import read_roles
from melm.tables.table import as_text
from melm.tables.times import as_iso

PAGE = Path(__file__).parents[3] / "docs" / "tables.md"
CODE = re.compile("`([^`]*)`")
N_ROWS = 12
LEAST = 20  # examples, so that a page without its table is no success


@dataclass(frozen=True)
class Example:
    """A line of the table."""

    column: str
    delimiter: str
    cells: list[str]
    role: str
    is_asked: bool
    values: list[str]


def examples() -> list[Example]:
    section = PAGE.read_text().partition("## Examples")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    return [as_example(*(cell.strip() for cell in row)) for row in rows]


def as_example(column: str, delimiter: str, cells: str, role: str, values: str = "") -> Example:
    written = CODE.findall(cells)
    if "…" in cells:
        (start, first), (_, last) = (re.fullmatch(r"(\D*)(\d+)", cell).groups() for cell in written)  # type: ignore[union-attr]
        written = [f"{start}{number}" for number in range(int(first), int(last) + 1)]
    kind, _, asked = role.partition(", ")
    return Example(
        column, CODE.findall(delimiter)[0], written, kind, asked == "asked", CODE.findall(values.strip("| "))
    )


def as_csv(example: Example) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=example.delimiter)
    writer.writerow(["before", example.column, "label"])
    for row in range(N_ROWS):
        writer.writerow([row * 5 % 7, example.cells[row % len(example.cells)], "ab"[row % 2]])
    return file.getvalue().encode()


def test_there_are_examples() -> None:
    assert len(examples()) >= LEAST


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.column}: {' '.join(example.cells[:3])}")
def test_examples(example: Example) -> None:
    options = ReadOptions(target="label")
    reader = CsvReader(options)
    reader.feed(as_csv(example))
    table = reader.finish_with_problems()
    reading = read_roles("text/csv", table, options, reader.problems, dialect=reader.dialect)
    assert not reading.errors
    assert reading.dialect is not None
    assert reading.dialect.delimiter == example.delimiter
    asked = [problem.column for problem in reading.problems if problem.level is Severity.QUESTION]
    assert asked == ([example.column] if example.is_asked else [])
    (column,) = (column for column in reading.columns if column.name == example.column)
    assert column.role == example.role
    content = reading.content
    assert content is not None
    if column.role == "ignore":
        assert example.column not in content.features.names
        return
    if column.role == "id":
        assert content.ids is not None
        found = content.ids.tolist()
    else:
        found = content.features.cells(example.column)
    if column.role == "time":
        found = [as_iso(days) for days in found]
    assert ["null" if cell is None else as_text(cell) for cell in found[: len(example.values)]] == example.values
