"""The download of a dataset's rows: page by page, as the columns that were uploaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from melm.tables.roles import Role
from melm.tables.table import Table
from melm.tables.times import as_iso
from melm.typing import AnyArray
from service.errors import FieldError, Invalid
from service.intake.formats import CODECS, NamedArrays, npy
from worker.store.datasets import Codes, Datasets
from worker.store.records import DatasetRecord
from worker.store.table_part import TablePart

PAGE_BYTES = 32 << 20  # approximate size of a page; a page of wide rows or long texts has fewer rows
NUMBER_BYTES = 16  # of a number, as text
SHOWN_NAMES = 10
JSON, CSV, ARROW, NPZ = (
    "application/json",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/x-npz",
)
MEDIA_TYPES = [JSON, CSV, ARROW, NPZ]


@dataclass(frozen=True)
class StoredColumn:
    """Values of a column, None where missing."""

    name: str
    role: str
    values: AnyArray  # (m,): numbers, or objects


@dataclass(frozen=True)
class RowsPage:
    """Some rows of a dataset."""

    record: DatasetRecord
    row_numbers: npt.NDArray[np.intp]  # (m,), counted from 0 in the order of upload
    X: AnyArray  # (m, p), the columns of numbers
    codes: Codes  # (m, q), of the columns of text
    y: AnyArray  # (m,)
    part: TablePart | None  # of these rows
    info: Table | None  # of these rows: columns that are shown and no more
    next_offset: int | None

    @property
    def feature_names(self) -> list[str]:
        """The features, in their order."""
        return self.record.feature_names or [f"x{j}" for j in range(self.record.n_features)]

    @property
    def number_names(self) -> list[str]:
        """The columns of X."""
        return [name for name in self.feature_names if name not in self.record.text_names]

    def columns(self) -> list[StoredColumn]:
        """All columns that are stored, in the order of the table that they came from."""
        described = self.record.columns or []
        place = {column.name: index for index, column in enumerate(described)}
        names = {column.role: column.name for column in described}
        found = [
            StoredColumn(name, Role.TIME, _as_times(self.X[:, index]))
            if self.part is not None and name in self.part.time_names
            else StoredColumn(name, Role.NUMERIC, _as_written(self.X[:, index]))
            for index, name in enumerate(self.number_names)
        ]
        if self.part is not None:
            found += [
                StoredColumn(name, Role.CATEGORICAL, np.array([*values, None], object)[self.codes[:, index]])
                for index, (name, values) in enumerate(zip(self.part.text_names, self.part.categories, strict=True))
            ]
            if self.part.ids is not None:
                found.append(StoredColumn(self.part.id_name or "id", Role.ID, self.part.ids))
            if self.part.weights is not None:
                found.append(
                    StoredColumn(names.get(Role.WEIGHT, "weight"), Role.WEIGHT, _as_written(self.part.weights))
                )
            if self.part.groups is not None:
                found.append(StoredColumn(names.get(Role.GROUP, "group"), Role.GROUP, self.part.groups))
        if self.info is not None:
            found += [StoredColumn(name, Role.INFO, _as_shown(self.info, name)) for name in self.info.names]
        order = {name: index for index, name in enumerate(self.feature_names)}
        found.sort(key=lambda column: (place.get(column.name, len(place)), order.get(column.name, len(order))))
        target = StoredColumn(
            names.get(Role.TARGET) or _free_name({column.name for column in found}), Role.TARGET, self.y
        )
        found.insert(place.get(target.name, len(found)), target)
        return found


def find_rows(
    datasets: Datasets, tenant: str, record: DatasetRecord, numbers: Sequence[int], ids: Sequence[str]
) -> npt.NDArray[np.intp]:
    """The rows requested by number and by id; all rows if neither is given."""
    if not numbers and not ids:
        return np.arange(record.n_rows)
    beyond = [number for number in numbers if not 0 <= number < record.n_rows]
    if beyond:
        detail = f"there is no row {beyond[0]}; rows are counted from 0 to {record.n_rows - 1}"
        raise Invalid([FieldError("/query/rows", detail)])
    if not ids:
        return np.array(numbers, np.intp)
    _, part = datasets.labels(tenant, record)
    if part is None or part.ids is None:
        raise Invalid([FieldError("/query/ids", "the rows of this dataset have no ids", "ask by row number: rows")])
    wanted = dict.fromkeys(ids)
    row_of = {name: row for row, name in enumerate(map(str, part.ids.tolist())) if name in wanted}
    unknown = [name for name in wanted if name not in row_of]
    if unknown:
        shown = ", ".join(repr(name)[:40] for name in unknown[:SHOWN_NAMES])
        raise Invalid([FieldError("/query/ids", f"no row has the id {shown}", count=len(unknown))])
    return np.array([*numbers, *(row_of[name] for name in wanted)], np.intp)


def read_page(
    datasets: Datasets, tenant: str, record: DatasetRecord, rows: npt.NDArray[np.intp], offset: int, limit: int
) -> RowsPage:
    """The rows from `offset` on: at most `limit`, at most the size of a page, and at least one."""
    n_numbers = record.n_features - len(record.text_names)
    here = rows[offset : offset + max(1, min(limit, PAGE_BYTES // (NUMBER_BYTES * max(n_numbers, 1))))]
    X, codes = datasets.take(tenant, record, here)
    y, part = datasets.labels(tenant, record)
    sizes = np.full(len(here), NUMBER_BYTES * n_numbers + y.itemsize)
    if part is not None:
        for index, values in enumerate(part.categories):
            sizes += np.array([*map(len, values), 0])[codes[:, index]]
        sizes += sum(array.itemsize for array in (part.ids, part.groups) if array is not None)
    n_rows = max(1, int(np.searchsorted(np.cumsum(sizes), PAGE_BYTES, side="right")))
    here = here[:n_rows]
    if part is not None:
        arrays = {name: getattr(part, name) for name in ("ids", "groups", "weights")}
        part = replace(part, codes=codes[:n_rows], **{n: a[here] for n, a in arrays.items() if a is not None})
    following = offset + len(here)
    info = datasets.info(tenant, record)
    return RowsPage(
        record,
        here,
        X[:n_rows],
        codes[:n_rows],
        y[here],
        part,
        None if info is None else info.take(here),
        following if following < len(rows) else None,
    )


def encode(page: RowsPage, media_type: str, *, is_raw: bool) -> bytes:
    """A page in one of the media types."""
    if media_type == NPZ:
        return _as_npz(page)
    columns = page.columns()
    if media_type == JSON:
        content = {
            "dataset_id": page.record.id,
            "n_rows": page.record.n_rows,
            "row_numbers": page.row_numbers.tolist(),
            "columns": [{"name": each.name, "role": each.role, "values": each.values.tolist()} for each in columns],
            "next_offset": page.next_offset,
        }
        return msgspec.json.encode(content)
    arrays = {str(index): column.values for index, column in enumerate(columns)}
    return CODECS[media_type].encode(NamedArrays(arrays, tuple(column.name for column in columns), "", is_raw=is_raw))


def _as_npz(page: RowsPage) -> bytes:
    """The columns of numbers in the form that `createDataset` accepts, the row numbers, and the other columns."""
    names = np.array(page.number_names, np.str_)
    arrays: dict[str, Any] = {"X": page.X, "y": page.y, "feature_names": names, "row_numbers": page.row_numbers}
    part = page.part
    if part is not None:
        texts = [column.values for column in page.columns() if column.role == Role.CATEGORICAL]
        longest = max((len(value) for values in texts for value in values if value is not None), default=1)
        if 4 * longest * page.codes.size > 2 * PAGE_BYTES:  # NumPy pads all cells to the longest
            detail = f"a text of {longest} characters is too long for npz"
            raise Invalid([FieldError("/query/limit", detail, "ask for fewer rows, or for another media type")])
        if texts:
            arrays["text"] = np.array([["" if value is None else value for value in values] for values in texts]).T
            arrays["text_names"] = np.array(part.text_names)
        arrays |= {name: array for name, array in (("ids", part.ids), ("groups", part.groups)) if array is not None}
    return npy.encode_npz(NamedArrays(arrays, (), ""))


def _as_written(values: AnyArray) -> AnyArray:
    """Numbers as integers if all are whole, with None for missing values."""
    missing = np.isnan(values)
    present = values[~missing]
    is_whole = bool((present == np.floor(present)).all()) and bool((np.abs(present) < 2**53).all())
    if is_whole and not (np.signbit(present) & (present == 0)).any():
        present = present.astype(np.int64)
    if not missing.any():
        return present
    column = np.empty(len(values), object)
    column[~missing] = present.tolist()
    return column


def _as_shown(table: Table, name: str) -> AnyArray:
    """Any column, with None for missing values."""
    if table.is_text(name):
        return np.array(table.cells(name), object)
    values = table.number(name)
    return _as_times(values) if name in table.time_names else _as_written(values)


def _as_times(days: AnyArray) -> AnyArray:
    return np.array([None if np.isnan(value) else as_iso(value) for value in days.tolist()], object)


def _free_name(taken: set[str]) -> str:
    name = "y"
    while name in taken:
        name += "_"
    return name
