"""What would be read of a table, told before anything is stored: columns with roles and reasons, classes, problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from melm.tables.dialect import Dialect
from melm.tables.options import ReadOptions
from melm.tables.problem import Fix, Level, Problem
from melm.tables.roles import Proposal, Role, RolesError, assign_roles, labels_of
from melm.tables.table import NO_CATEGORY, Table
from melm.tables.target import Candidate, guess_target

SHOWN_EXAMPLES = 3
LONGEST_EXAMPLE = 60
MIN_ROWS_PER_CLASS = 2
SHOWN_CLASSES = 100


@dataclass(frozen=True)
class ColumnReading:
    """A column of a table: what it is for and why, and what is in it."""

    name: str
    role: str
    kind: str  # number, category, boolean, time, text or empty: what its values are, whatever its role
    reason: str
    is_given: bool  # whether the caller has set the role
    n_missing: int
    missing_share: float
    n_distinct: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class ClassReading:
    """A class, and how many rows it has."""

    label: Any
    n_rows: int


@dataclass(frozen=True)
class Reading:
    """What a table would be read as."""

    media_type: str
    dialect: Dialect | None  # of text
    encoding: str | None
    n_rows: int
    n_unlabeled: int
    is_complete: bool  # False where only the beginning of a file was looked at
    columns: tuple[ColumnReading, ...]
    target: Candidate | None  # the column that was named, else the likeliest
    is_target_given: bool
    other_targets: tuple[Candidate, ...]
    classes: tuple[ClassReading, ...]
    problems: tuple[Problem, ...]


def read_roles(
    media_type: str,
    table: Table | None,
    options: ReadOptions,
    problems: Iterable[Problem] = (),
    *,
    dialect: Dialect | None = None,
    encoding: str | None = None,
    labels: Sequence[Any] | None = None,
    is_complete: bool = True,
) -> Reading:
    """The reading of the columns of a file. Labels may come beside them."""
    found = list(problems)
    if table is None:
        return Reading(media_type, dialect, encoding, 0, 0, is_complete, (), None, False, (), (), tuple(found))
    told = {problem.detail for problem in found}
    roles, wrong = _roles(table, options, lambda name: f"there is no column {name!r}" not in told)
    found += wrong
    given = next((name for name, each in roles.items() if each.role is Role.TARGET), None)
    candidates = guess_target(table, roles)
    target = next((each for each in candidates if each.name == given), None)
    if given is not None and target is None:
        target = Candidate(given, "set by the caller", _n_distinct(table, given), 0.0)
    if given is None and labels is None and candidates:
        target = candidates[0]
        roles[target.name] = Proposal(Role.TARGET, target.reason)
        advice = "name another column by target where that is wrong"
        fix = Fix("target", target.name, "to confirm it")
        detail = f"no column is named as the target; {target.name!r} is the likeliest: {target.reason}"
        found.append(Problem(detail, (fix,), advice, target.name, level=Level.QUESTION))
    elif given is None and labels is None:
        found.append(Problem("no column says which class a row belongs to", advice="name one by target"))
    classes, n_unlabeled = _classes(table, None if target is None else target.name, labels, found)
    columns = tuple(_column(table, name, roles[name], options) for name in table.names)
    if not any(column.role in (Role.NUMERIC, Role.CATEGORICAL) for column in columns):
        found.append(Problem("no column is a feature", advice='set roles by columns, such as {"age": "numeric"}'))
    return Reading(
        media_type,
        dialect,
        encoding,
        len(table),
        n_unlabeled,
        is_complete,
        columns,
        target,
        given is not None,
        tuple(each for each in candidates if target is None or each.name != target.name),
        classes,
        tuple(found),
    )


def _roles(
    table: Table, options: ReadOptions, is_known: Callable[[str], bool]
) -> tuple[dict[str, Proposal], list[Problem]]:
    """The roles as far as they can be given, and what is wrong with those that cannot."""
    known = {name: role for name, role in options.columns.items() if is_known(name)}
    target = options.target if options.target is None or is_known(options.target) else None
    try:
        return dict(assign_roles(table, known, target)), []
    except RolesError as error:
        problems = [Problem(detail, column=name) for name, detail in error.problems]
        return dict(assign_roles(table)), problems


def _classes(
    table: Table, target: str | None, labels: Sequence[Any] | None, problems: list[Problem]
) -> tuple[tuple[ClassReading, ...], int]:
    """The classes with their rows, and how many rows have none."""
    n_unlabeled = 0
    if target is not None:
        missing = table.is_missing(target)
        n_unlabeled = int(missing.sum())
        try:
            labels = labels_of(table.take(np.flatnonzero(~missing)), target).tolist()
        except RolesError as error:
            problems += [Problem(detail, column=target) for _, detail in error.problems]
            return (), n_unlabeled
    if labels is None:
        return (), 0
    found, counts = np.unique(np.asarray(labels), return_counts=True)
    if len(found) < 2:
        detail = f"there is {len(found)} class, not 2 or more"
        problems.append(Problem(detail, advice="send rows of two classes", column=target))
    rare = found[counts < MIN_ROWS_PER_CLASS].tolist()
    if rare:
        shown = ", ".join(repr(label)[:40] for label in rare[:5]) + (", ..." if rare[5:] else "")
        detail = f"{len(rare)} of {len(found)} classes have 1 row, fewer than {MIN_ROWS_PER_CLASS}: {shown}"
        problems.append(Problem(detail, column=target, count=len(rare)))
    classes = [ClassReading(label, count) for label, count in zip(found.tolist(), counts.tolist(), strict=True)]
    return tuple(classes[:SHOWN_CLASSES]), n_unlabeled


def _column(table: Table, name: str, proposal: Proposal, options: ReadOptions) -> ColumnReading:
    missing = table.is_missing(name)
    n_missing = int(missing.sum())
    return ColumnReading(
        name=name,
        role=proposal.role.value,
        kind=_kind(table, name, n_missing),
        reason=proposal.reason,
        is_given=name in options.columns or name == options.target,
        n_missing=n_missing,
        missing_share=n_missing / max(len(table), 1),
        n_distinct=_n_distinct(table, name),
        examples=_examples(table, name),
    )


def _kind(table: Table, name: str, n_missing: int) -> str:
    if n_missing == len(table):
        return "empty"
    return "category" if table.is_text(name) else "number"


def _n_distinct(table: Table, name: str) -> int:
    if table.is_text(name):
        codes, _ = table.text(name)
        return len(np.unique(codes[codes != NO_CATEGORY]))
    values = table.number(name)
    return len(np.unique(values[~np.isnan(values)]))


def _examples(table: Table, name: str) -> tuple[str, ...]:
    """The first values that differ."""
    head = table.take(np.arange(min(len(table), 1000))).with_text(name)
    shown = dict.fromkeys(cell for cell in head.cells(name) if cell is not None)
    return tuple(cell[:LONGEST_EXAMPLE] for cell in list(shown)[:SHOWN_EXAMPLES])
