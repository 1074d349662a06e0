"""How a table is to be read: what a caller knows of a file, and what shall become of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Missing: TypeAlias = Literal["impute", "refuse"]
RareClasses: TypeAlias = Literal["refuse", "drop", "merge"]


@dataclass(frozen=True)
class ReadOptions:
    """What a caller says of a table; the rest is found out. Every front end has these options under these names."""

    target: str | None = None  # the column of labels
    columns: Mapping[str, str] = field(default_factory=dict)  # role by name
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()  # beside the usual ones
    sheet: str | None = None  # of a workbook
    missing: Missing = "impute"
    others: str | None = None  # the role of columns that `columns` does not name; None finds out what they hold
