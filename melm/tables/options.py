"""Options for reading a table: what the caller knows about a file, and how to treat its rows and columns."""

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
    "ignore or target. Roles of the other columns are proposed.",
    "missing": "Whether missing values are imputed (numbers by the median and a flag, text by a category of its own) "
    "or refused.",
    "drop_missing": "Leave out rows that lack a feature.",
    "unlabeled": "What happens to rows without a label.",
    "rare_classes": "What happens to classes of a single row: refused, left out, or merged into one called `other`.",
    "day_first": "Whether 03/04/2024 is the third of April, if no date of the file settles it.",
    "delimiter": "The character that separates the cells of CSV.",
    "decimal": "The decimal mark of CSV.",
    "encoding": f"The encoding of CSV: {', '.join(ENCODINGS)}.",
    "sheet": "The sheet of a workbook; the first with cells by default.",
    "missing_values": "Text that stands for a missing value in CSV, besides NA, NaN, null, ? and empty cells.",
}


@dataclass(frozen=True)
class ReadOptions:
    """What the caller knows about a table; all else is detected. Every front end has these options by these names."""

    target: str | None = None  # the column of labels
    columns: Mapping[str, str] = field(default_factory=dict)  # role by name, or by a pattern such as q*
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()  # besides the usual ones
    day_first: bool | None = None  # of dates such as 03/04/2024
    sheet: str | None = None  # of a workbook
    missing: Missing = "impute"
    drop_missing: bool = False  # leave out rows that lack a feature
    unlabeled: Unlabeled = "drop"
    rare_classes: RareClasses = "refuse"  # those of a single row
    others: str | None = None  # the role of columns that `columns` does not name; None proposes one by their values
