"""What a table holds beside its matrix of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TablePart:
    """Columns of text as codes, names of the rows, and the groups that they belong to."""

    text_names: tuple[str, ...]
    codes: npt.NDArray[np.int32]  # (n, q), -1 where missing
    categories: tuple[tuple[str, ...], ...]  # q of them: the values that the codes stand for
    ids: Array | None = None  # (n,)
    id_name: str | None = None  # of the column that they stand in
    groups: Array | None = None  # (n,)
    weights: Array | None = None  # (n,)
    time_names: tuple[str, ...] = ()  # columns of numbers that are days since 1970-01-01
    day_first: tuple[str, ...] = ()  # those of them that are written with the day before the month

    @property
    def n_bytes(self) -> int:
        """What it weighs in memory, its categories left out."""
        return sum(array.nbytes for array in (self.codes, self.ids, self.groups, self.weights) if array is not None)
