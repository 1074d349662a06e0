"""How a table is to be read: what a caller knows of a file, and what shall become of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Missing: TypeAlias = Literal["impute", "refuse"]
Unlabeled: TypeAlias = Literal["drop", "refuse"]
RareClasses: TypeAlias = Literal["refuse", "drop", "merge"]


ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1250", "cp1251", "cp1252", "big5", "euc-kr", "gb18030", "shift_jis")
TEXTS = {  # what each option says, in the client, over HTTP and on the command line
    "target": "The column of labels.",
    "columns": "Roles by name, or by a pattern such as `q*`: numeric, categorical, time, id, group, weight, info, "
    "ignore or target. The others are proposed.",
    "missing": "Whether missing values are filled in, numbers by the median and a flag, text by a category of its own; "
    "or refused.",
    "drop_missing": "Leave out rows that lack a feature.",
    "unlabeled": "What becomes of rows without a label.",
    "rare_classes": "What becomes of classes of a single row: refused, left out, or made one called `other`.",
    "day_first": "Whether 03/04/2024 is the third of April, where no date of the file tells.",
    "delimiter": "What separates the cells of CSV.",
    "decimal": "What stands before decimals in CSV.",
    "encoding": f"Of CSV: {', '.join(ENCODINGS)}.",
    "sheet": "The sheet of a workbook; the first with cells by default.",
    "missing_values": "What stands for a missing value in CSV, beside NA, NaN, null, ? and nothing.",
}


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
