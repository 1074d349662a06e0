"""Kinds of text columns: dates and times become numbers, and words for yes and no are recognized."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from melm.tables.options import ReadOptions
from melm.tables.problem import SHOWN_PLACES, Fix, Problem, Severity
from melm.tables.roles import Role
from melm.tables.table import NO_CATEGORY, Table
from melm.tables.times import day_first_of, is_open, read_times
from melm.typing import Array

LOOKED_AT = 100  # values inspected to decide whether a column holds times
MOSTLY_TIMES = 0.8  # of its values: other cells of such a column are reported as mistakes


def find_times(table: Table, options: ReadOptions, problems: list[Problem]) -> Table:
    """The table with dates and times as numbers: columns with the role time, and those whose values look like times."""
    given = {name: role for name, role in options.columns.items() if role != Role.INFO}
    given |= {} if options.target is None else {options.target: Role.TARGET}
    found = [
        name
        for name in table.text_names
        if given.get(name, Role.TIME if options.others is None else options.others) == Role.TIME
        and (name in given or _looks_like_times(table.text(name)[1]))
    ]
    if not found:
        return table
    proofs = [day_first_of(table.text(name)[1]) for name in found]
    of_file = next((proof for proof in proofs if proof is not None), None)
    columns: dict[str, Array] = {}
    with_day_first = []
    for name, proof in zip(found, proofs, strict=True):
        day_first = _day_first(table, name, proof, of_file, options, problems)
        columns[name] = as_times(table, name, day_first, problems)
        with_day_first += [name] if day_first else []
    return replace(table.with_columns(columns), time_names=tuple(columns), day_first=tuple(with_day_first))


def _looks_like_times(categories: Collection[str]) -> bool:
    sample = list(categories)[:: max(len(categories) // LOOKED_AT, 1)]
    if not sample:
        return False
    is_time = [np.isfinite(read_times([value], order)).all() for value in sample for order in (True, False)]
    return bool(np.mean(np.reshape(is_time, (-1, 2)).any(axis=1)) >= MOSTLY_TIMES)


def _day_first(
    table: Table,
    name: str,
    proof: bool | None,
    of_file: bool | None,
    options: ReadOptions,
    problems: list[Problem],
) -> bool:
    """Whether the day comes first: as the caller says, or this or another column proves; else a question is added."""
    categories = table.text(name)[1]
    if options.day_first is not None or proof is not None or not is_open(categories):
        return options.day_first if options.day_first is not None else bool(proof)
    if of_file is not None:
        return of_file
    example = next(value for value in categories if is_open([value]))
    detail = f"{example!r} may have the month or the day first; it is read with the month first"
    fixes = (Fix("day_first", True, "where the day is first"), Fix("day_first", False, "to confirm it"))
    problems.append(Problem(detail, fixes, column=name, level=Severity.QUESTION))
    return False


def as_times(table: Table, name: str, day_first: bool, problems: list[Problem]) -> Array:
    """A column of text as days since 1970-01-01 (n,). Cells that are not times are added to the problems."""
    codes, categories = table.text(name)
    values = np.append(read_times(categories, day_first), np.nan)
    wrong = np.flatnonzero(np.isnan(values[:-1]))
    if len(wrong):
        rows = np.flatnonzero(np.isin(codes, wrong))
        cell = categories[codes[rows[0]]][:40]
        fixes = (
            Fix("missing_values", cell, "where it stands for a missing value"),
            Fix("columns", {name: "categorical"}, "where the column is text"),
        )
        places = tuple(rows[:SHOWN_PLACES].tolist())
        detail = f"{cell!r} is not a date or time, as the others are"
        problems.append(Problem(detail, fixes, column=name, rows=places, count=len(rows)))
    column: Array = values[np.where(codes == NO_CATEGORY, len(categories), codes)]
    return column
