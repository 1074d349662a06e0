"""The roles of columns, with reasons, as lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from melm.command.failure import say
from melm.command.terminal import one_line

SHOWN_COLUMNS = 50


def role_lines(columns: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Name, role and reason of each column; of a wide table only the first columns."""
    table = [tuple(one_line(str(each[key])) for key in ("name", "role", "reason")) for each in columns]
    shown = table[:SHOWN_COLUMNS]
    widths = [max((len(row[place]) for row in shown), default=0) for place in (0, 1)]
    for name, role, reason in shown:
        yield f"{name:<{widths[0]}}  {role:<{widths[1]}}  {reason}"
    if len(table) > len(shown):
        yield f"and {len(table) - len(shown)} more"


def say_roles(columns: Iterable[Mapping[str, Any]]) -> None:
    """Print the roles on standard error."""
    say("columns have these roles; --columns NAME=ROLE changes one")
    for line in role_lines(columns):
        sys.stderr.write(f"  {line}\n")


def kind_lines(columns: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Name and type of each column of a model, and how missing values and text are encoded."""
    return role_lines({"name": each["name"], "role": each["kind"], "reason": remark(each)} for each in columns)


def remark(column: Mapping[str, Any]) -> str:
    """How a model encodes a column."""
    if column["kind"] == "numeric":
        filled = f"missing values take {column['median']:.4g}" if column["n_missing"] else "no missing values"
        return f"{filled} and are flagged" if column["has_gaps"] else filled
    if column["kind"] == "time":
        return f"dates or times; {', '.join(column['phases']) or 'no phase'} varies"
    parts = [*column["categories"], *(["other"] if column["has_other"] else [])]
    return ", ".join([*parts, *(["missing"] if column["has_gaps"] else [])])
