"""The upload of a dataset: from a body in any media type to what the store keeps, with the roles of its columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from melm.data.blocks import blocks
from melm.data.labeled import Labeled
from melm.tables.encoding import needs_encoder
from melm.tables.files import DRY_RUN_BYTES
from melm.tables.options import ReadOptions
from melm.tables.reading import Reading, read_roles
from melm.tables.roles import Role, Sorted
from melm.tables.sparse import is_sparse
from melm.tables.stack import Stack
from melm.tables.table import Table
from melm.typing import AnyArray, Matrix
from service.errors import FieldError, Invalid
from service.intake import formats as codecs
from service.intake.cells import JsonTable, read_cells
from service.intake.formats import Codec, Limits
from service.intake.formats.csv import CSV, PIECE_BYTES, TableReader, as_field_error, inspect_csv
from service.intake.formats.excel import EXCEL, open_sheet
from service.intake.formats.table import SPILL_BYTES
from service.intake.inspection import check_training_data, length_errors, name_errors
from service.intake.memory import ROW_BYTES, hold, hold_unfolded
from service.intake.wording import as_field_errors
from service.schemas import DatasetFields
from worker.store.errors import StoreFull
from worker.store.labeled_rows import as_labeled
from worker.store.records import ColumnRecord
from worker.store.table_part import TablePart


@dataclass(frozen=True)
class Upload:
    """The content of a body, as the store keeps it."""

    X: Matrix
    y: AnyArray
    feature_names: tuple[str, ...] | None
    part: TablePart | None = None
    info: Table | None = None  # columns that are shown and no more
    columns: list[ColumnRecord] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    n_unlabeled: int = 0  # rows without a label, which are left out


def parse_roles(text: str | None) -> dict[str, str]:
    """Roles by column, from the JSON object in a query parameter."""
    if text is None:
        return {}
    try:
        roles = json.loads(text)
    except (ValueError, RecursionError):
        roles = None
    if not isinstance(roles, dict) or not all(isinstance(role, str) for role in roles.values()):
        raise Invalid([FieldError("/columns", "is not a JSON object of roles by column", 'send {"age": "numeric"}')])
    return roles


class Reception:
    """A body of labeled rows, received while it arrives.

    CSV is parsed as it arrives. Other media types are read when they are complete. Until then a large body is kept in
    an unnamed temporary file, which is memory-mapped, so the memory of an upload is limited, except for JSON.
    """

    def __init__(
        self,
        codec: Codec,
        limits: Limits,
        options: ReadOptions,
        *,
        is_dry: bool = False,
        content: Stack | None = None,  # where all of it has arrived already
    ) -> None:
        self._codec, self._limits, self._options = codec, limits, options
        self._csv = TableReader(limits, options) if codec is CSV and not is_dry and content is None else None
        self._bytes = Stack(1, np.uint8, SPILL_BYTES) if content is None else content
        self._n_bytes = 0

    def take(self, piece: bytes) -> None:
        """The next piece."""
        hold(min(len(piece), max(SPILL_BYTES - self._n_bytes, 0)))
        self._n_bytes += len(piece)
        with room():
            if self._csv is not None:
                self._csv.take(piece)
            else:
                self._bytes.append(np.frombuffer(piece, np.uint8)[:, None])

    def inspect(self, is_complete: bool = True) -> Reading:
        """How the table would be stored, with all of its problems."""
        media_type = self._codec.media_type
        content = self._whole()
        if self._codec is CSV:
            is_complete = is_complete and len(content) <= DRY_RUN_BYTES
            return inspect_csv(content[:DRY_RUN_BYTES], self._limits, self._options, is_complete)
        if self._codec is EXCEL:
            sheet, written = open_sheet(content, self._limits, self._options)
            return replace(inspect_csv(sheet, self._limits, written, is_complete=True), media_type=media_type)
        cells = read_cells(media_type, content, self._limits, self._options)
        if cells is not None:
            options = with_roles(self._options, cells)
            return read_roles(media_type, cells.table, options, labels=cells.y, is_guessed=True)
        matrix = self._codec.read_matrix(content, self._limits)
        if is_sparse(matrix.X):
            raise Invalid([FieldError("", "a sparse matrix is taken as it is: there is nothing to inspect")])
        if errors := list(name_errors(matrix, "")):
            raise Invalid(errors)
        table = Table.of_numbers(matrix.X, matrix.feature_names)
        roles = dict.fromkeys(table.names, Role.NUMERIC)  # of a matrix every column is a feature
        options = replace(self._options, columns=roles)
        return read_roles(media_type, table, options, labels=matrix.y, is_guessed=True)

    def finish(self) -> Upload:
        """The rows. The columns of a table are divided by their roles; a matrix is stored unchanged."""
        with room():
            if self._csv is not None:
                return from_cells(JsonTable(self._csv.finish()), self._options)
            content = self._whole()
            cells = read_cells(self._codec.media_type, content, self._limits, self._options)
            if cells is not None:
                return from_cells(cells, self._options)
            matrix = self._codec.read_matrix(content, self._limits)
            hold(ROW_BYTES * matrix.X.shape[0])
            return Upload(*check_training_data(matrix), matrix.feature_names, fields=check_fields(matrix.fields))

    def _whole(self) -> memoryview:
        """The complete body."""
        content: memoryview = self._bytes.finish()[:, 0].data
        hold_unfolded(self._codec.media_type, content)
        return content


@contextmanager
def room() -> Iterator[None]:
    """Refuse an upload if the disk is full."""
    try:
        yield
    except OSError as error:
        raise StoreFull(f"The upload cannot be kept while it arrives: {error.strerror}.") from error


def read_upload(codec: Codec, content: bytes, limits: Limits, options: ReadOptions) -> Upload:
    """The labeled rows in a complete body."""
    reception = Reception(codec, limits, options)
    for begin in range(0, len(content), PIECE_BYTES):
        reception.take(content[begin : begin + PIECE_BYTES])
    return reception.finish()


def from_cells(cells: JsonTable, options: ReadOptions) -> Upload:
    """The upload of a table, whose columns are divided by their roles."""
    if errors := list(length_errors(cells.table.names, "")):
        raise Invalid(errors)
    hold_text(cells.table, options.target)
    reading = read_roles("", cells.table, with_roles(options, cells), labels=cells.y)
    if reading.errors or reading.content is None:
        raise Invalid(map(as_field_error, reading.errors))
    return replace(
        as_upload(reading.content),
        info=reading.content.info,
        columns=describe(reading),
        fields=check_fields(cells.fields),
        n_unlabeled=reading.n_unlabeled,
    )


def check_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The name and metadata of a JSON body, checked for their limits."""
    try:
        DatasetFields.model_validate(fields)
    except ValidationError as error:
        raise Invalid(as_field_errors(error.errors(), fields, DatasetFields)) from None
    return fields


def hold_text(table: Table, name: str | None) -> None:
    """Reserve memory for a column of text: NumPy gives each value as much space as the longest one needs."""
    if name is not None and table.is_text(name):
        hold(4 * len(table) * max(map(len, table.text(name)[1]), default=0))


def with_roles(options: ReadOptions, cells: JsonTable) -> ReadOptions:
    """The options, with the roles in a JSON body."""
    return replace(options, columns={**options.columns, **cells.columns})


def as_upload(found: Sorted) -> Upload:
    """What is stored: only a matrix, if there are no columns but numbers."""
    features, labels = found.features, np.asarray(found.labels)
    extra = (found.ids, found.groups, found.weights)
    if not needs_encoder(features) and all(array is None for array in extra):
        matrix = codecs.Matrices(np.ascontiguousarray(features.numbers), labels, features.names)
        return Upload(*check_training_data(matrix), features.names)
    numbers = np.ascontiguousarray(features.numbers)
    for block in blocks(*numbers.shape):
        # One bit pattern for all NaN, so that equal tables have equal hashes.
        numbers[block][np.isnan(numbers[block])] = np.nan
    part = TablePart(
        features.text_names,
        features.codes,
        features.categories,
        found.ids,
        found.id_name,
        found.groups,
        found.weights,
        features.time_names,
        features.day_first,
    )
    return Upload(numbers, labels, features.names, part)


def labeled_rows(upload: Upload) -> Labeled:
    """The rows for a fit in this process."""
    return as_labeled(upload.feature_names, upload.X, upload.y, upload.part)


def describe(reading: Reading) -> list[ColumnRecord]:
    """The columns for the summary of the dataset."""
    return [
        ColumnRecord(
            name=column.name,
            role=column.role,
            reason=column.reason,
            n_missing=column.n_missing,
            n_categories=None if column.categories is None else column.n_distinct,
            categories=None if column.categories is None else list(column.categories),
        )
        for column in reading.columns
    ]
