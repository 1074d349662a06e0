"""A dry run of reading a table, before anything is stored: columns with roles and reasons, classes, problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.tables.dialect import Dialect
from melm.tables.kinds import find_times
from melm.tables.options import ReadOptions
from melm.tables.problem import SHOWN_PLACES, Fix, Problem, Severity
from melm.tables.roles import (
    FEATURES,
    MANY_VALUES,
    Proposal,
    Role,
    RolesError,
    Sorted,
    assign_roles,
    by_name,
    is_yes_or_no,
    sort_columns,
)
from melm.tables.table import NO_CATEGORY, Table
from melm.tables.target import TargetCandidate, guess_target
from melm.tables.times import as_iso

SHOWN_EXAMPLES = 3
LONGEST_EXAMPLE = 60
LOOKED_AT_ROWS = 100  # for examples
MIN_ROWS_PER_CLASS = 2
SHOWN_CLASSES = 100
SHOWN_CATEGORIES = 50
OTHER_CLASS = "other"  # the name of merged rare classes


@dataclass(frozen=True)
class ColumnReading:
    """A column of a table: its role, the reason for it, and its contents."""

    name: str
    role: str
    kind: str  # number, category, boolean, time, text or empty: the kind of its values, whatever its role
    reason: str
    is_given: bool  # whether the caller has set the role
    n_missing: int
    missing_share: float
    n_distinct: int
    examples: tuple[str, ...]
    categories: tuple[str, ...] | None  # the first labels or categories, in order


@dataclass(frozen=True)
class ClassReading:
    """A class, and how many rows it has."""

    label: Any
    n_rows: int


@dataclass(frozen=True)
class Reading:
    """How a table would be read."""

    media_type: str
    dialect: Dialect | None  # of text
    encoding: str | None
    is_complete: bool  # False if only the beginning of a file was read
    n_rows: int = 0
    n_unlabeled: int = 0
    n_dropped: int = 0  # labeled rows that the options leave out
    columns: tuple[ColumnReading, ...] = ()
    target: TargetCandidate | None = None  # the column that was named, else the most likely one
    is_target_given: bool = False
    other_targets: tuple[TargetCandidate, ...] = ()
    classes: tuple[ClassReading, ...] = ()
    problems: tuple[Problem, ...] = ()
    content: Sorted | None = None  # the rows, if their columns could be sorted by role

    @property
    def errors(self) -> list[Problem]:
        """The problems that must be fixed before the table is read."""
        return [problem for problem in self.problems if problem.level is Severity.ERROR]


def read_roles(
    media_type: str,
    table: Table | None,
    options: ReadOptions,
    problems: Iterable[Problem] = (),
    *,
    dialect: Dialect | None = None,
    encoding: str | None = None,
    labels: npt.NDArray[Any] | None = None,
    is_complete: bool = True,
    is_guessed: bool = False,
) -> Reading:
    """How the columns of a file are read. Labels may come separately; `is_guessed` takes the most likely target."""
    found = list(problems)
    start = Reading(media_type, dialect, encoding, is_complete)
    if table is None:
        return replace(start, problems=tuple(found))
    table = find_times(table, replace(options, columns=by_name(options.columns, table.names)), found)
    roles = _roles(table, options, found)
    given = next((name for name, each in roles.items() if each.role is Role.TARGET), None)
    candidates = guess_target(table, roles) if is_guessed else []
    target = next((each for each in candidates if each.name == given), None)
    if given is not None and target is None:
        target = TargetCandidate(given, "set by the caller", _n_distinct(table, given), 0.0)
    if given is None and labels is None:
        target = candidates[0] if candidates else None
        if target is not None:
            roles[target.name] = Proposal(Role.TARGET, target.reason)
        found.append(_no_target(table, target))
    content, n_unlabeled, n_dropped = _rows(table, roles, labels, options, found)
    columns = _columns(table, roles, options, in_full=is_guessed)
    _look_at_features(columns, options, found)
    return replace(
        start,
        n_rows=len(table),
        n_unlabeled=n_unlabeled,
        n_dropped=n_dropped,
        columns=columns,
        target=target,
        is_target_given=given is not None,
        other_targets=tuple(each for each in candidates if target is None or each.name != target.name),
        classes=_classes(content),
        problems=tuple(found),
        content=content,
    )


def _roles(table: Table, options: ReadOptions, problems: list[Problem]) -> dict[str, Proposal]:
    """The roles of the columns. Names that the CSV reader has already reported as missing are not reported again."""
    told = {problem.detail for problem in problems}
    given = {n: role for n, role in options.columns.items() if f"there is no column {n!r}" not in told}
    target = options.target
    if target is not None and f"there is no column {target!r}" in told:
        target = None
    try:
        return dict(assign_roles(table, given, target))
    except RolesError as error:
        problems += [Problem(detail, column=name) for name, detail in error.problems]
        return dict(assign_roles(table))


def _no_target(table: Table, guess: TargetCandidate | None) -> Problem:
    if guess is None:
        fixes = tuple(Fix("target", name, "where the last column holds the labels") for name in table.names[-1:])
        return Problem("labels are missing", fixes, f"columns: {', '.join(table.names[:50])}", member="y")
    detail = f"no column is named as the target; {guess.name!r} is the most likely: {guess.reason}"
    advice = "name another column by target where that is wrong"
    return Problem(detail, (Fix("target", guess.name, "to confirm it"),), advice, guess.name, level=Severity.QUESTION)


def _rows(
    table: Table,
    roles: dict[str, Proposal],
    labels: npt.NDArray[Any] | None,
    options: ReadOptions,
    problems: list[Problem],
) -> tuple[Sorted | None, int, int]:
    """The rows that are kept, sorted by role; how many have no label; and how many others are left out."""
    keep = np.ones(len(table), bool)
    target = next((name for name, each in roles.items() if each.role is Role.TARGET), None)
    if target is not None:
        keep = ~table.is_missing(target)
    n_unlabeled = int((~keep).sum())
    if n_unlabeled and options.unlabeled == "refuse":
        rows = tuple(np.flatnonzero(~keep)[:SHOWN_PLACES].tolist())
        fixes = (Fix("unlabeled", "drop", "to leave these rows out"),)
        problems.append(Problem("the label is missing", fixes, column=target, rows=rows, count=n_unlabeled))
    elif n_unlabeled:
        detail = f"{n_unlabeled} of {len(table)} rows have no label and are left out"
        problems.append(Problem(detail, column=target, level=Severity.WARNING))
    if options.drop_missing:
        for name in table.names:
            if roles[name].role in FEATURES:
                keep &= ~table.is_missing(name)
    n_dropped = len(table) - n_unlabeled - int(keep.sum())
    if labels is not None and len(labels) != len(table):
        problems.append(
            Problem(f"there are {len(labels)} labels for {len(table)} rows", advice="send one label a row", member="y")
        )
        return None, n_unlabeled, n_dropped
    if not keep.all():
        kept = np.flatnonzero(keep)
        table, labels = table.take(kept), None if labels is None else labels[kept]
    try:
        content = sort_columns(table, roles)
    except RolesError as error:
        problems += [Problem(detail, column=name) for name, detail in error.problems]
        return None, n_unlabeled, n_dropped
    labels = labels if content.labels is None else content.labels
    if labels is None:
        return None, n_unlabeled, n_dropped
    content, n_rare = _settle_classes(replace(content, labels=labels), target, options, problems)
    return content, n_unlabeled, n_dropped + n_rare


def _settle_classes(
    content: Sorted, target: str | None, options: ReadOptions, problems: list[Problem]
) -> tuple[Sorted, int]:
    """Refuse, leave out or merge classes of one row, as the caller says. Returns also how many rows are left out."""
    labels = content.labels
    if labels is None or not len(labels):
        return content, 0
    if labels.dtype.kind == "f":
        detail = "labels are not whole numbers: a quantity has no classes"
        problems.append(Problem(detail, advice="send classes as text", member="y"))
        return content, 0
    found, inverse = np.unique(labels, return_inverse=True)
    is_rare = _are_rare(inverse, content.weights)[inverse]
    rare = np.unique(labels[is_rare]).tolist()
    n_left_out = 0
    if rare and options.rare_classes == "drop":
        n_left_out = int(is_rare.sum())
        content = content.take(np.flatnonzero(~is_rare))
    elif rare and options.rare_classes == "merge":
        content = replace(content, labels=np.where(is_rare, OTHER_CLASS, labels.astype(str)))
    if rare and options.rare_classes != "refuse":
        done = "left out" if options.rare_classes == "drop" else f"merged into {OTHER_CLASS!r}"
        problems.append(Problem(f"{_shown(rare, content.weights)}: {done}", column=target, level=Severity.WARNING))
        found, inverse = np.unique(np.asarray(content.labels), return_inverse=True)
        rare = found[_are_rare(inverse, content.weights)].tolist()
    if len(found) < 2:
        detail = f"there is {len(found)} class, not 2 or more"
        problems.append(Problem(detail, advice="send rows of two classes", member="y"))
    if rare:
        fixes = (Fix("rare_classes", "drop", "to leave them out"), Fix("rare_classes", "merge", "to merge them"))
        advice = "add rows of these classes, or name another target where this is a quantity"
        problems.append(Problem(_shown(rare, content.weights), fixes, advice, member="y"))
    return content, n_left_out


def _are_rare(codes: npt.NDArray[np.intp], weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.bool_]:
    """Which classes have too few rows. A row of weight two counts as two, one of weight zero as none."""
    if weights is None:
        return np.bincount(codes) < MIN_ROWS_PER_CLASS
    return np.maximum(np.bincount(codes, weights > 0), np.bincount(codes, weights)) < MIN_ROWS_PER_CLASS


def _shown(rare: Sequence[Any], weights: object) -> str:
    if weights is not None:
        few = f"fewer than {MIN_ROWS_PER_CLASS} rows that count"
        return f"classes with {few}: {', '.join(repr(label)[:40] for label in rare[:SHOWN_PLACES])}"
    if len(rare) == 1:
        return f"class {rare[0]!r} has 1 row, fewer than {MIN_ROWS_PER_CLASS}"
    shown = ", ".join(repr(label)[:40] for label in rare[:SHOWN_PLACES]) + (", ..." if rare[SHOWN_PLACES:] else "")
    return f"{len(rare)} classes have 1 row each, fewer than {MIN_ROWS_PER_CLASS}: {shown}"


def _classes(content: Sorted | None) -> tuple[ClassReading, ...]:
    """The classes with their rows."""
    if content is None or content.labels is None:
        return ()
    found, counts = np.unique(content.labels, return_counts=True)
    shown = zip(found[:SHOWN_CLASSES].tolist(), counts[:SHOWN_CLASSES].tolist(), strict=True)
    return tuple(ClassReading(label, count) for label, count in shown)


def _look_at_features(columns: Sequence[ColumnReading], options: ReadOptions, problems: list[Problem]) -> None:
    """Report problems of the features: none at all, or missing values."""
    features = [column for column in columns if column.role in FEATURES]
    if not features:
        others = [column.name for column in columns if column.role != Role.TARGET]
        fixes = tuple(Fix("columns", {name: "categorical"}, "to make it a feature") for name in others[:1])
        problems.append(Problem("no column is a feature", fixes, None if others else "send columns beside the labels"))
    lacking = [column for column in features if column.n_missing]
    if options.missing == "refuse" and not options.drop_missing:
        fixes = (Fix("missing", "impute", "to fill them in"), Fix("drop_missing", True, "to leave these rows out"))
        problems += [Problem(f"{column.n_missing} values are missing", fixes, column=column.name) for column in lacking]
    elif lacking and not options.drop_missing:
        worst = max(lacking, key=lambda column: column.n_missing)
        detail = f"values are missing in {len(lacking)} columns, most of them in {worst.name!r}: {worst.n_missing}"
        fixes = (
            Fix("columns", {worst.name: "ignore"}, f"to leave {worst.name!r} out"),
            Fix("drop_missing", True, "to leave these rows out"),
        )
        advice = "numbers take the median there, and categories one of their own"
        problems.append(Problem(detail, fixes, advice, level=Severity.WARNING))


def _columns(
    table: Table, roles: Mapping[str, Proposal], options: ReadOptions, *, in_full: bool
) -> tuple[ColumnReading, ...]:
    """All columns. Examples and the number of distinct numbers, which only people need, are left out of an upload."""
    given = by_name(options.columns, table.names) | ({} if options.target is None else {options.target: Role.TARGET})
    head = table.take(np.arange(min(len(table), LOOKED_AT_ROWS) if in_full else 0))
    columns = []
    for name in table.names:
        role, n_missing = roles[name].role, int(table.is_missing(name).sum())
        categories = table.read_as_text(name)[1] if role in (Role.CATEGORICAL, Role.TARGET) else None
        columns.append(
            ColumnReading(
                name=name,
                role=role.value,
                kind=_kind(table, name, n_missing),
                reason=roles[name].reason,
                is_given=name in given,
                n_missing=n_missing,
                missing_share=n_missing / max(len(table), 1),
                n_distinct=_n_distinct(table, name) if categories is None and in_full else len(categories or ()),
                examples=_examples(head, name),
                categories=None if categories is None else categories[:SHOWN_CATEGORIES],
            )
        )
    return tuple(columns)


def _kind(table: Table, name: str, n_missing: int) -> str:
    if n_missing == len(table):
        return "empty"
    if name in table.time_names:
        return "time"
    if not table.is_text(name):
        return "number"
    categories = table.text(name)[1]
    if is_yes_or_no(categories):
        return "boolean"
    return "category" if len(categories) <= MANY_VALUES else "text"


def _n_distinct(table: Table, name: str) -> int:
    if table.is_text(name):
        codes, _ = table.text(name)
        return len(np.unique(codes[codes != NO_CATEGORY]))
    values = table.number(name)
    return len(np.unique(values[~np.isnan(values)]))


def _examples(head: Table, name: str) -> tuple[str, ...]:
    """The first distinct values."""
    if name in head.time_names:
        cells = [as_iso(days) for days in head.number(name).tolist() if days == days]
    else:
        codes, categories = head.read_as_text(name)
        cells = [categories[code] for code in codes.tolist() if code != NO_CATEGORY]
    return tuple(cell[:LONGEST_EXAMPLE] for cell in list(dict.fromkeys(cells))[:SHOWN_EXAMPLES])
