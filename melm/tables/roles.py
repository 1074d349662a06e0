"""The roles of the columns of a table: proposed from the data with a reason, and settable."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.tables.encoding import enough_rows
from melm.tables.table import NO_CATEGORY, Codes, Table
from melm.typing import Array

MAX_LABEL_LENGTH = 1_000  # an array of text takes as much memory for each label as for the longest
MANY_ROWS = 10  # with fewer rows, it means nothing that all values differ
MANY_VALUES = 20  # so many that they are likely people or places, not categories
VERY_MANY_VALUES = 100  # if none of so many is frequent, nothing of the column becomes a feature
WHOLE_NUMBER = re.compile("-?(0|[1-9][0-9]{0,999})")  # neither 007 nor a number of thousands of digits
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|nr|no)$|(?<=[a-z])I[Dd]$")
MAX_DIGITS = 16  # characters of a whole number, sign included, that float64 certainly represents
YEARS = (1700, 2200)
WORDS = "yes/no y/n true/false t/f on/off ja/nein j/n oui/non si/no sí/no sim/não sì/no ja/nee"
YES_AND_NO = tuple(frozenset(pair.split("/")) for pair in WORDS.split())
GROUP_NAME = re.compile(r"(^|[^a-z])(id|uuid|guid)$|(?<=[a-z])I[Dd]$")  # not "index": a body mass index may well repeat


class Role(StrEnum):
    """The role of a column."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    TIME = "time"  # a date or a time: a number, and where in the day, the week and the year it lies
    ID = "id"  # names a row; returned with its predictions, and never a feature
    WEIGHT = "weight"  # how much a row counts
    GROUP = "group"  # rows of one group are never divided between training and validation
    INFO = "info"  # kept to be shown, searched and colored by; never used in a fit
    IGNORE = "ignore"
    TARGET = "target"


FEATURES = (Role.NUMERIC, Role.CATEGORICAL, Role.TIME)


@dataclass(frozen=True)
class Proposal:
    """The role of a column, and the reason for it."""

    role: Role
    reason: str


class RolesError(ValueError):
    """The roles do not fit the table; `problems` has the column of each problem (None: no single one)."""

    def __init__(self, problems: list[tuple[str | None, str]]) -> None:
        super().__init__(" ".join(f"{problem}." for _, problem in problems))
        self.problems = problems


def assign_roles(
    table: Table, given: Mapping[str, str] | None = None, target: str | None = None
) -> dict[str, Proposal]:
    """The role of every column: the given one, else the one that its values suggest."""
    roles = by_name(given or {}, table.names) | ({} if target is None else {target: Role.TARGET})
    problems: list[tuple[str | None, str]] = [
        (name, f"there is no column {name!r}; {near_name(name, table.names)}columns: {', '.join(table.names[:50])}")
        for name in roles
        if name not in table.names
    ]
    problems += [
        (name, f"{role!r} is not a role; roles: {', '.join(Role)}")
        for name, role in roles.items()
        if role not in list(Role)
    ]
    for role in (Role.TARGET, Role.ID, Role.GROUP, Role.WEIGHT):
        named = [name for name, chosen in roles.items() if chosen == role]
        if len(named) > 1:
            problems.append((None, f"only one column can be the {role}: {', '.join(named)}"))
    if problems:
        raise RolesError(problems)
    taken = {Role(role) for role in roles.values()} & {Role.ID, Role.GROUP}
    alike: dict[bytes, list[str]] = {}  # columns of numbers by their first values
    assigned = {}
    for name in table.names:
        if name in roles:
            assigned[name] = Proposal(Role(roles[name]), "set by the caller")
            continue
        proposal = propose(table, name)
        if proposal.role in taken:
            proposal = Proposal(Role.IGNORE, f"{proposal.reason}, but another column is the {proposal.role} already")
        elif proposal.role in (Role.ID, Role.GROUP):
            taken.add(proposal.role)
        elif proposal.role is Role.NUMERIC:
            twin = None if table.is_text(name) else _twin(table, name, alike)
            if twin is not None:
                proposal = Proposal(Role.IGNORE, f"holds the same values as {twin!r}")
        assigned[name] = proposal
    return assigned


def near_name(name: str, names: Sequence[str]) -> str:
    """A suggestion for a misspelled column name; empty if no name is similar."""
    known = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f"did you mean {known[near[0]]!r}? " if near else ""


def _twin(table: Table, name: str, alike: dict[bytes, list[str]]) -> str | None:
    """An earlier column with the same values."""
    values = table.number(name)
    others = alike.setdefault(values[:MANY_VALUES].tobytes(), [])
    twin = next((other for other in others if np.array_equal(values, table.number(other), equal_nan=True)), None)
    others.append(name)
    return twin


def by_name(roles: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Roles that are given by column name, or by a pattern such as `q*`. A name takes precedence over a pattern."""
    found: dict[str, str] = {}
    for pattern, role in roles.items():
        matching = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
        for name in matching or [pattern]:
            if name == pattern or name not in roles:
                found[name] = role
    return found


def propose(table: Table, name: str) -> Proposal:
    """The role that the values of a column suggest."""
    missing = table.is_missing(name)
    n_present = int((~missing).sum())
    if not n_present:
        return Proposal(Role.IGNORE, "holds no value at all")
    if name in table.time_names:
        values = table.number(name)
        if np.nanmin(values) == np.nanmax(values):
            return Proposal(Role.IGNORE, "always the same time")
        return Proposal(Role.TIME, f"dates or times{_count_missing(missing)}")
    if not table.is_text(name) and np.nanmin(table.number(name)) == np.nanmax(table.number(name)):
        value = f"{np.nanmax(table.number(name)):g}"
        return Proposal(Role.IGNORE, f"always {value}: a column that never varies cannot tell classes apart")
    n_distinct, whole, increasing = _look(table, name)
    all_differ = n_distinct == n_present >= MANY_ROWS and not missing.any()
    if all_differ and whole and increasing and not _are_years(table, name):
        return Proposal(Role.ID, "all values differ and increase: id")
    if all_differ and whole and _is_named(name, ID_NAME):
        return Proposal(Role.ID, "all values differ and the name says id")
    if MANY_VALUES <= n_distinct < n_present and whole and _is_named(name, GROUP_NAME):
        return Proposal(Role.GROUP, f"the name says id and {n_distinct} values repeat: rows of one belong together")
    if not table.is_text(name) or increasing is not None:
        return Proposal(Role.NUMERIC, f"numbers{_count_missing(missing)}")
    if all_differ:
        return Proposal(Role.ID, "all values differ: id")
    if n_distinct == 1:
        return Proposal(Role.IGNORE, "text that is the same in every row")
    if is_yes_or_no(table.text(name)[1]):
        return Proposal(Role.CATEGORICAL, f"yes or no{_count_missing(missing)}")
    if n_distinct > MANY_VALUES and n_distinct > n_present / 2:
        return Proposal(Role.IGNORE, f"text with {n_distinct} values in {n_present} rows: too many to be categories")
    if n_distinct > VERY_MANY_VALUES and _most_frequent(table, name) < enough_rows(len(table)):
        return Proposal(Role.IGNORE, f"text with {n_distinct} values, each in too few rows to be a category")
    return Proposal(Role.CATEGORICAL, f"text with {n_distinct} values")


def is_yes_or_no(categories: Collection[str]) -> bool:
    """Whether a column holds two words, one for yes and one for no."""
    words = {value.lower() for value in categories}
    return len(categories) == 2 and words in YES_AND_NO


def _most_frequent(table: Table, name: str) -> int:
    """In how many rows the most frequent value of a column of text is."""
    codes = table.text(name)[0]
    return int(np.bincount(codes[codes != NO_CATEGORY]).max())


def _count_missing(missing: npt.NDArray[np.bool_]) -> str:
    return f", {int(missing.sum())} missing" if missing.any() else ""


def _are_years(table: Table, name: str) -> bool:
    """Whether whole numbers that increase may be years."""
    if table.is_text(name):
        first, last = (int(table.text(name)[1][table.text(name)[0][place]]) for place in (0, -1))
    else:
        first, last = table.number(name)[[0, -1]].astype(int).tolist()
    return YEARS[0] <= first <= last <= YEARS[1]


def _is_named(name: str, pattern: re.Pattern[str]) -> bool:
    return pattern.search(name.strip()) is not None or pattern.search(name.strip().lower()) is not None


def _look(table: Table, name: str) -> tuple[int, bool, bool | None]:
    """The number of distinct values, whether they could be ids, and whether they increase (None: not whole numbers).

    Whole numbers may be stored as text, because an id may have more digits than float64 can represent.
    """
    if not table.is_text(name):
        values = table.number(name)
        values = values[~np.isnan(values)]
        if not (values == np.floor(values)).all():
            return 0, False, None  # the number of distinct values does not matter, and sorting takes time
        return len(np.unique(values)), True, bool((np.diff(values) > 0).all())
    codes, categories = table.text(name)
    codes = codes[codes != NO_CATEGORY]
    n_distinct = len(np.unique(codes))
    if not all(map(WHOLE_NUMBER.fullmatch, categories)):
        return n_distinct, True, None
    ranks = np.argsort(np.argsort(np.array(list(map(int, categories)), dtype=object), kind="stable"))
    return n_distinct, True, bool((np.diff(ranks[codes]) > 0).all())


@dataclass(frozen=True)
class Sorted:
    """A table sorted by roles: features, labels, and ids of rows."""

    features: Table
    labels: npt.NDArray[Any] | None
    ids: npt.NDArray[Any] | None
    groups: npt.NDArray[Any] | None
    id_name: str | None
    weights: npt.NDArray[np.float64] | None
    info: Table | None = None  # columns that are shown and no more

    def take(self, rows: npt.NDArray[np.intp]) -> Sorted:
        """Some of the rows."""
        arrays = {name: getattr(self, name) for name in ("labels", "ids", "groups", "weights")}
        taken = {name: array[rows] for name, array in arrays.items() if array is not None}
        info = None if self.info is None else self.info.take(rows)
        return replace(self, features=self.features.take(rows), info=info, **taken)


def sort_columns(table: Table, roles: Mapping[str, Proposal]) -> Sorted:
    """The columns by role. Categories written as numbers become text, and numbers written as text become numbers."""
    by_role: dict[Role, list[str]] = {role: [n for n in table.names if roles[n].role is role] for role in Role}
    changed: dict[str, Array | tuple[Codes, tuple[str, ...]]] = {
        name: table.read_as_text(name) for name in by_role[Role.CATEGORICAL] if not table.is_text(name)
    }
    changed |= {name: _numbers(table, name) for name in by_role[Role.NUMERIC] if table.is_text(name)}
    changed |= {name: _numbers(table, name) for name in by_role[Role.INFO] if _is_written_as_numbers(table, name)}
    if changed:
        table = table.with_columns(changed)  # all at once: one by one would take cubic time in the columns
    names = [name for name in table.names if roles[name].role in FEATURES]

    def column(role: Role) -> npt.NDArray[Any] | None:
        return labels_of(table, by_role[role][0]) if by_role[role] else None

    return Sorted(
        table.select(names),
        column(Role.TARGET),
        column(Role.ID),
        column(Role.GROUP),
        by_role[Role.ID][0] if by_role[Role.ID] else None,
        _weights(table, by_role[Role.WEIGHT][0]) if by_role[Role.WEIGHT] else None,
        table.select(by_role[Role.INFO]) if by_role[Role.INFO] else None,
    )


def _is_written_as_numbers(table: Table, name: str) -> bool:
    """Whether text holds whole numbers that float64 can represent."""
    if not table.is_text(name):
        return False
    values = table.text(name)[1]
    return bool(values) and all(len(value) < MAX_DIGITS and WHOLE_NUMBER.fullmatch(value) for value in values)


def _weights(table: Table, name: str) -> npt.NDArray[np.float64]:
    weights = _numbers(table, name)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise RolesError([(name, f"row index {bad[0]}: a weight is a finite number, 0 or more")])
    if not weights.any():
        raise RolesError([(name, "all weights are 0")])
    return np.ascontiguousarray(weights)


def labels_of(table: Table, name: str) -> npt.NDArray[Any]:
    """A column as labels: whole numbers where every value is written as one ("007" is not), else numbers or text."""
    missing = np.flatnonzero(table.is_missing(name))
    if len(missing):
        raise RolesError([(name, f"row index {missing[0]}, column {name!r}: the value is missing")])
    if not table.is_text(name):
        values = table.number(name)
        whole = bool((values == np.floor(values)).all()) and bool((np.abs(values) < 2**53).all())
        return values.astype(np.int64) if whole else values
    codes, categories = table.text(name)
    if (longest := max(map(len, categories), default=0)) > MAX_LABEL_LENGTH:
        limit = f"more than the limit of {MAX_LABEL_LENGTH}"
        raise RolesError([(name, f"column {name!r} has a value of {longest} characters, {limit}")])
    written: list[str] | list[int] = list(categories)
    if all(len(value) < 19 and WHOLE_NUMBER.fullmatch(value) for value in categories):
        written = list(map(int, categories))
    labels: npt.NDArray[Any] = np.array(written)[codes]
    return labels


def _numbers(table: Table, name: str) -> Array:
    try:
        return table.read_as_number(name)
    except ValueError as error:
        raise RolesError([(name, f"column {name!r} is not numeric: {error}")]) from None
