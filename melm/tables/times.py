"""Dates and times as people write them: a fixed list of formats, each read as days since 1970-01-01.

The order of day and month in `03/04/2024` can only be settled by a cell of the column that has a single reading
(`31/12/2024`), by a cell of another column, or by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from math import nan

import numpy as np

from melm.typing import Array

MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES.split(), 1)}
CLOCK = (
    r"(?:[T ]\s*(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:[.,]\d{1,9})?))?"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?)?"
)
NAMED = r"(?P<name>[A-Za-z]{3})[a-z]{0,6}\.?"
YEAR_FIRST = re.compile(r"(?P<year>[12]\d{3})([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)" + CLOCK)
DAY_FIRST = re.compile(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>[12]\d{3})" + CLOCK)  # never month first
OPEN = re.compile(r"(?P<first>\d\d?)([-/])(?P<second_part>\d\d?)\2(?P<year>[12]\d{3})" + CLOCK)
DAY_NAME = re.compile(r"(?P<day>\d\d?)[ .-]+" + NAMED + r"[ ,-]+(?P<year>[12]\d{3})" + CLOCK)
NAME_DAY = re.compile(NAMED + r" (?P<day>\d\d?),? (?P<year>[12]\d{3})" + CLOCK)
FORMATS = (YEAR_FIRST, DAY_FIRST, OPEN, DAY_NAME, NAME_DAY)
EPOCH = date(1970, 1, 1).toordinal()
MONDAY = 3  # days from Monday to Thursday, the weekday of 1970-01-01


def day_first_of(cells: Sequence[str]) -> bool | None:
    """Whether the cells prove that the day comes first (True) or the month (False); None if both are possible."""
    for cell in cells:
        if found := OPEN.fullmatch(cell):
            if int(found["first"]) > 12:
                return True
            if int(found["second_part"]) > 12:
                return False
    return None


def is_open(cells: Sequence[str]) -> bool:
    """Whether the order of day and month is ambiguous in some cell."""
    return any(OPEN.fullmatch(cell) for cell in cells)


def read_times(cells: Sequence[str], day_first: bool) -> Array:
    """Days since 1970-01-01 (n,), with hours as fractions; NaN for cells that match none of the formats."""
    return np.array([_read(cell, day_first) for cell in cells], np.float64)


def _read(cell: str, day_first: bool) -> float:
    for pattern in FORMATS:
        if found := pattern.fullmatch(cell.strip()):
            return _days(found.groupdict(), day_first)
    return nan


def _days(part: dict[str, str | None], day_first: bool) -> float:
    month, day = part.get("month"), part.get("day")
    if part.get("first") is not None:
        first, second = part["first"], part["second_part"]
        day, month = (first, second) if day_first else (second, first)
    if (name := part.get("name")) is not None:
        month = str(MONTHS.get(name.lower(), 0))
    hour = int(part["hour"] or 0)
    if part["half"]:
        hour = hour % 12 + (12 if part["half"] in "Pp" else 0)
    try:
        days = date(int(part["year"] or 0), int(month or 0), int(day or 0)).toordinal() - EPOCH
    except ValueError:
        return nan
    seconds = 3600 * hour + 60 * int(part["minute"] or 0) + float((part["second"] or "0").replace(",", "."))
    return days + (seconds - _offset(part["zone"])) / 86400


def _offset(zone: str | None) -> int:
    """Seconds east of Greenwich."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    size = 3600 * int(zone[1:3]) + 60 * int(zone[-2:])
    return -size if zone[0] == "-" else size


def as_iso(days: float) -> str:
    """A time as ISO 8601; midnight is written as a date."""
    text = str(np.datetime64(round(days * 86400), "s"))
    return text.removesuffix("T00:00:00")


def phases(days: Array) -> dict[str, Array]:
    """The phase of each time in the day, the week and the year, from 0 to 1."""
    years = (days * 86400e6).astype("datetime64[us]").astype("datetime64[M]")
    month = years.astype(np.int64) % 12
    return {"hour": days % 1, "weekday": np.floor(days + MONDAY) % 7 / 7, "month": month / 12}
