"""Rows for a model: its columns are found in a table by name, in any order, checked, and converted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from melm.tables.encoding import MAX_DAYS, CategoryColumn, Column, NumberColumn, TimeColumn
from melm.tables.kinds import as_times
from melm.tables.problem import SHOWN_PLACES, Problem
from melm.tables.roles import Role
from melm.tables.table import Table

SHOWN_NAMES = 20
LISTED_NAMES = 50
NEVER_MISSING = "the value is missing, and no training row lacked it"


def role_of(column: Column) -> Role:
    """The role by which the values of a column are read."""
    if isinstance(column, NumberColumn):
        return Role.NUMERIC
    return Role.TIME if isinstance(column, TimeColumn) else Role.CATEGORICAL


def find_columns(
    table: Table, columns: Sequence[Column], *, impute: bool = False
) -> tuple[Table, list[Problem], list[str]]:
    """The table with these columns converted to their kinds, the problems of its rows, and remarks.

    A missing value in a column in which no training row lacked one is a problem, or a remark if `impute` is set.
    """
    names = [column.name for column in columns]
    if missing := names_beyond(names, table.names):
        advice = f"columns: {', '.join(names[:LISTED_NAMES])}"
        return table, [Problem(f"the column {name!r} is missing", advice=advice, member=name) for name in missing], []
    categorical = [column.name for column in columns if isinstance(column, CategoryColumn)]
    if changed := {name: table.read_as_text(name) for name in categorical if not table.is_text(name)}:
        table = table.with_columns(changed)
    problems: list[Problem] = []
    remarks: list[str] = []
    for column in columns:
        if isinstance(column, CategoryColumn):
            remarks += about_unseen(table, column)
        elif isinstance(column, TimeColumn) and table.is_text(column.name):
            table = table.with_columns({column.name: as_times(table, column.name, column.day_first, problems)})
        elif table.is_text(column.name):
            detail = f"the column {column.name!r} is text, not numbers"
            problems.append(Problem(detail, member=column.name))
            continue
        problems += _wrong_numbers(table, column)
        lacking = [] if column.n_missing else _of_rows(column.name, table.is_missing(column.name), NEVER_MISSING)
        if impute:
            remarks += [_about_missing(column, problem.count) for problem in lacking]
        else:
            problems += lacking
    return table, problems, remarks


def _wrong_numbers(table: Table, column: Column) -> list[Problem]:
    """Problems with numbers that the column cannot hold."""
    if isinstance(column, TimeColumn):
        return _of_rows(column.name, np.abs(table.number(column.name)) > MAX_DAYS, "the number is not a valid time")
    if isinstance(column, NumberColumn):
        return _of_rows(column.name, np.isinf(table.number(column.name)), "the number is infinite")
    return []


def _of_rows(name: str, is_wrong: npt.NDArray[np.bool_], detail: str) -> list[Problem]:
    """One problem for all rows in which a column is wrong; none where no row is."""
    rows = np.flatnonzero(is_wrong)
    if not len(rows):
        return []
    places = tuple(rows[:SHOWN_PLACES].tolist())
    return [Problem(detail, advice="send a value", column=name, rows=places, count=len(rows))]


def _about_missing(column: Column, n_missing: int) -> str:
    """A remark on missing values in a column in which no training row lacked one."""
    taken = "none of the categories" if isinstance(column, CategoryColumn) else "the median"
    values = "1 value is" if n_missing == 1 else f"{n_missing} values are"
    return f"{values} missing in the column {column.name!r}, where no training row lacked one, and taken as {taken}."


def about_unseen(table: Table, column: CategoryColumn) -> list[str]:
    """Remarks on values that no training row had, or too few."""
    codes, values = table.text(column.name)
    used = [values[code] for code in np.unique(codes[codes >= 0]).tolist()]
    unseen = [value for value in used if value not in column.categories]
    if not unseen:
        return []
    if column.has_other:
        treated = "that the training rows had never or too rarely, taken as other"
    elif column.rest_as is not None:
        treated = f"that the training rows had never or too rarely, taken as {column.rest_as}"
    else:
        treated = "that no training row had, taken as none of the categories"
    return [f"The column {column.name!r} has values {treated}: {shown(unseen)}."]


def names_beyond(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names that are not among those known, in their order."""
    among = set(known)
    return [name for name in names if name not in among]


def about_extra(names: list[str]) -> tuple[str, ...]:
    """A remark on columns that the model does not use."""
    return (f"Columns that the model does not use were ignored: {shown(names)}.",) if names else ()


def shown(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(name[:40] for name in names[:SHOWN_NAMES]) + more
