"""How a table is to be read: what a caller knows of a file, and what shall become of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Missing: TypeAlias = Literal["impute", "refuse"]
Unlabeled: TypeAlias = Literal["drop", "refuse"]
RareClasses: TypeAlias = Literal["refuse", "drop", "merge"]


@dataclass(frozen=True)
class ReadOptions:
    """What a caller says of a table; the rest is found out. Every front end has these options under these names."""

    target: str | None = None  # the column of labels
    columns: Mapping[str, str] = field(default_factory=dict)  # role by name, or by a pattern such as q*
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()  # beside the usual ones
    day_first: bool | None = None  # of dates such as 03/04/2024
    sheet: str | None = None  # of a workbook
    missing: Missing = "impute"
    drop_missing: bool = False  # leave out rows that lack a feature
    unlabeled: Unlabeled = "drop"
    rare_classes: RareClasses = "refuse"  # those of a single row
    others: str | None = None  # the role of columns that `columns` does not name; None finds out what they hold
