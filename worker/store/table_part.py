"""The columns of a table that are not in its matrix of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TablePart:
    """Categorical columns as codes, and the ids, groups and weights of rows."""

    text_names: tuple[str, ...]
    codes: npt.NDArray[np.int32]  # (n, q), -1 where missing
    categories: tuple[tuple[str, ...], ...]  # q of them: the values of the codes
    ids: Array | None = None  # (n,)
    id_name: str | None = None  # name of the column of ids
    groups: Array | None = None  # (n,)
    weights: Array | None = None  # (n,)
    time_names: tuple[str, ...] = ()  # columns of numbers that are days since 1970-01-01
    day_first: tuple[str, ...] = ()  # those whose text has the day before the month

    @property
    def n_bytes(self) -> int:
        """Its size in memory, without categories."""
        return sum(array.nbytes for array in (self.codes, self.ids, self.groups, self.weights) if array is not None)
