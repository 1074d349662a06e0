"""Stored rows as labeled rows for a fit, in a worker and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from melm.data.labeled import Labeled
from melm.tables.table import Table
from melm.typing import Matrix
from worker.store.table_part import Array, TablePart


def as_labeled(names: Sequence[str] | None, X: Matrix, y: Array, part: TablePart | None) -> Labeled:
    """Labeled rows of a matrix or a table, which also cache what is computed from them."""
    if part is None or names is None:
        return Labeled.check(X, y, None if names is None else list(names))
    numbers = tuple(name for name in names if name not in part.text_names)
    texts = (part.text_names, part.codes, part.categories)
    table = Table(tuple(names), numbers, X, *texts, part.time_names, part.day_first)
    return Labeled.of_table(table, y, part.groups, part.id_name, part.weights)
