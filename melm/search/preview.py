"""Previews of the picture during the search: some rows in the projection of one start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.data.labeled import Labeled
from melm.data.prepared_rows import PreparedRows
from melm.plan import Result, Unit
from melm.typing import Array

MAX_ROWS = 2000


@dataclass(frozen=True)
class Preview:
    """Rows in the projection of a start. Only divergences on the same number of rows can be compared."""

    start: int
    n_judged_rows: int
    divergence: float
    rows: npt.NDArray[np.intp]  # (m,), evenly spread over the dataset
    positions: Array  # (m, k)


def preview(data: Labeled, prepared: PreparedRows, unit: Unit, result: Result) -> Preview | None:
    """The result of a unit of the main search; None if it has none that can be compared."""
    if unit.start is None:
        return None
    n_judged_rows = unit.arguments.get("n_sampled") or sum(prepared.counts)
    divergence = result["divergence" if "divergence" in result else "sample_divergence"]
    if not np.isfinite(divergence):
        return None
    rows = np.linspace(0, len(data.codes) - 1, min(len(data.codes), MAX_ROWS)).astype(np.intp)
    positions = (data.X[rows] - prepared.rows.center) @ prepared.canonical(result["projection"])
    return Preview(unit.start, n_judged_rows, divergence, rows, positions)
