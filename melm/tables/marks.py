"""Thousands and decimal marks: whether `1,234` is 1234 or 1.234.

A cell is sure if it can be read in one way only (`0.5`, `1,234.5` and `1,234,567` have a decimal point; `0,5`,
`1.234,5` and `1.234.567` a decimal comma), and open if three digits follow its only mark. The sure cells of the column
decide, then those of the file, then the delimiter: in a file separated by commas, a comma inside quotes groups
thousands. Next, if all unmarked numbers of the column are below 1,000, the open ones are taken to be grouped. If
nothing decides, the majority of the file is used, and the caller is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

OTHER = {".": ",", ",": "."}
SPACES = " \u00a0\u2009\u202f"  # between thousands: plain, no-break, thin, and narrow no-break space
GROUPS = f"'’{SPACES}"  # thousands marks that are never decimal marks
SIGNS = "$€£¥%"
EXPONENT = "([eE][+-]?[0-9]+)?"
OPEN = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
PLAIN = re.compile(r"[+-]?[0-9]+")
FRACTION = re.compile(r"[+-]?(?=[.,]?[0-9])[0-9]*([.,])[0-9]*" + EXPONENT)


def number_pattern(decimal: str) -> str:
    """A regular expression, without capturing groups, for numbers with this decimal mark."""
    group = f"[{OTHER[decimal]}{GROUPS}]"
    whole = f"([1-9][0-9]{{0,2}}({group}[0-9]{{3}})+|[0-9]+)"
    sign = f"[{SIGNS}]?[{SPACES}]?"
    return f"^[+-]?{sign}[+-]?({whole}([{decimal}][0-9]*)?|[{decimal}][0-9]+){EXPONENT}[{SPACES}]?[{SIGNS}]?$"


NUMBERS = {mark: re.compile(number_pattern(mark)) for mark in OTHER}


@dataclass(frozen=True)
class Marks:
    """Counts of the decimal and thousands marks in cells."""

    n_sure: Counter[str]  # by decimal mark
    n_open: Counter[str]  # by the mark that they have
    has_plain: bool
    is_small: bool  # no plain number has more than three digits

    @classmethod
    def of(cls, cells: Iterable[str]) -> Marks:
        """Count the marks of every cell."""
        n_sure: Counter[str] = Counter()
        n_open: Counter[str] = Counter()
        plain: list[str] = []
        for cell in cells:
            number = cell.strip(SIGNS + SPACES)
            if PLAIN.fullmatch(number):
                plain.append(number)
            elif found := OPEN.fullmatch(number):
                n_open[found[1]] += 1
            elif found := FRACTION.fullmatch(number):  # a shortcut for most cells, which saves four patterns
                n_sure[found[1]] += 1
            elif "." in number or "," in number:
                n_sure.update(mark for mark in OTHER if is_written_with(number, mark))
        return cls(n_sure, n_open, bool(plain), all(len(number.lstrip("+-")) < 4 for number in plain))

    @property
    def sure(self) -> str | None:
        """The decimal mark of the sure cells."""
        return max(self.n_sure, key=lambda mark: (self.n_sure[mark], mark == ".")) if self.n_sure else None

    @property
    def majority(self) -> str:
        """The decimal mark of a file without sure cells: the most frequent mark of open cells."""
        return self.sure or ("," if self.n_open[","] > self.n_open["."] else ".")

    def decide(self, file: Marks, delimiter: str) -> str | None:
        """The decimal mark of a column of a file; None if nothing decides it."""
        if (sure := self.sure or file.sure) is not None:
            return sure
        if delimiter == ",":
            return "."
        if self.n_open and self.has_plain and self.is_small and len(self.n_open) == 1:
            return OTHER[next(iter(self.n_open))]
        return None


def is_open(cell: str) -> bool:
    """Whether a cell can be read with either decimal mark."""
    return OPEN.fullmatch(cell.strip(SIGNS + SPACES)) is not None


def is_written_with(number: str, decimal: str) -> bool:
    """Whether a number can be read with this decimal mark and not with the other one."""
    return NUMBERS[decimal].match(number) is not None and NUMBERS[OTHER[decimal]].match(number) is None
