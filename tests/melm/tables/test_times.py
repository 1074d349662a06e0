"""Dates and times in all formats of the closed list, and the order of day and month."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from melm.tables.encoding import Encoder, TimeColumn
from melm.tables.kinds import find_times
from melm.tables.options import ReadOptions
from melm.tables.problem import Problem, Severity
from melm.tables.table import Table
from melm.tables.times import as_iso, phases, read_times


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024/2/9", "2024-02-09"),
        ("2024-01-05T10:30:00Z", "2024-01-05T10:30:00"),
        ("2024-01-05 10:30:00.5+02:00", "2024-01-05T08:30:00.5"),
        ("31.12.2023 23:59", "2023-12-31T23:59:00"),
        ("3/14/2024 2:05 PM", "2024-03-14T14:05:00"),
        ("12/25/2024 12:00 am", "2024-12-25"),
        ("5 Mar 2024", "2024-03-05"),
        ("March 5, 2024", "2024-03-05"),
        ("05-Sept-2024", "2024-09-05"),
    ],
)
def test_formats(written: str, iso: str) -> None:
    (days,) = read_times([written], False)
    expected = datetime.fromisoformat(iso).replace(tzinfo=UTC).timestamp() / 86400
    assert days == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("written", ["2024-02-30", "13/13/2024", "hello", "1.5", "10.2.3", "25:00", "2024", ""])
def test_what_is_no_time(written: str) -> None:
    assert np.isnan(read_times([written], False)).all()
    assert np.isnan(read_times([written], True)).all()


def test_iso_reads_back() -> None:
    for text in ("2024-02-29", "1969-07-20T20:17:40"):
        assert as_iso(read_times([text], False)[0]) == text


def test_phases_are_those_of_the_calendar() -> None:
    found = phases(read_times(["2026-11-16T18:00", "2026-01-18"], False))  # a Monday and a Sunday
    assert found["hour"].tolist() == [0.75, 0]
    assert found["weekday"] == pytest.approx([0, 6 / 7])
    assert found["month"] == pytest.approx([10 / 12, 0])


def table_of(**columns: list[str | None]) -> Table:
    return Table.of_cells(columns)


def days_of(table: Table, **options: object) -> tuple[Table, list[Problem]]:
    problems: list[Problem] = []
    return find_times(table, ReadOptions(**options), problems), problems  # type: ignore[arg-type]


def test_a_column_proves_its_order() -> None:
    table, problems = days_of(table_of(a=["03/04/2024", "13/04/2024", None]))
    assert problems == []
    assert [as_iso(days) for days in table.number("a")[:2].tolist()] == ["2024-04-03", "2024-04-13"]
    assert np.isnan(table.number("a")[2])
    assert (table.time_names, table.day_first) == (("a",), ("a",))


def test_another_column_proves_it() -> None:
    table, problems = days_of(table_of(a=["03/04/2024"], b=["31/12/2024"]))
    assert problems == []
    assert as_iso(table.number("a")[0]) == "2024-04-03"


def test_where_nothing_proves_it_the_caller_is_asked() -> None:
    cells = table_of(a=["03/04/2024", "05/06/2024"])
    table, (question,) = days_of(cells)
    assert as_iso(table.number("a")[0]) == "2024-03-04"
    assert question.level is Severity.QUESTION
    assert [(fix.parameter, fix.value) for fix in question.fixes] == [("day_first", True), ("day_first", False)]
    for fix in question.fixes:
        table, problems = days_of(cells, day_first=fix.value)
        assert problems == []
        assert as_iso(table.number("a")[0]) == ("2024-04-03" if fix.value else "2024-03-04")


def test_cells_that_are_none_are_named() -> None:
    cells = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "soon", "2024-01-06", "soon"]
    _, (problem,) = days_of(table_of(a=[*cells, "2024-01-07", "2024-01-08", "2024-01-09"]))
    assert (problem.level, problem.rows, problem.count) == (Severity.ERROR, (4, 6), 2)
    table, problems = days_of(table_of(a=list(cells)), columns={"a": "categorical"})
    assert (problems, table.time_names) == ([], ())


def test_the_encoder_knows_what_varies() -> None:
    days = read_times([f"2024-{month:02}-{day:02}" for month in (1, 5, 9) for day in (1, 2, 3)], False)
    table = Table(("when",), ("when",), days[:, None], (), np.empty((9, 0), np.int32), (), ("when",))
    encoder = Encoder.fit(table)
    (column,) = encoder.columns
    assert isinstance(column, TimeColumn)
    assert column.phases == ("weekday", "month")
    assert encoder.features == [
        "when",
        *(f"when ({phase}, {wave})" for phase in ("weekday", "month") for wave in ("sine", "cosine")),
    ]
    X = encoder.encode(table)
    assert np.array_equal(X[:, 0], days)
    assert X[:, 3] ** 2 + X[:, 4] ** 2 == pytest.approx(np.ones(9))
    assert Encoder.from_json(encoder.to_json()) == encoder
