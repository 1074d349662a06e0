"""A dataset on its way in: from a body in any media type to what the store keeps, with the roles of its columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from melm.data.blocks import blocks
from melm.data.labeled import Labeled
from melm.tables.encoding import needs_encoder
from melm.tables.files import DRY_RUN_BYTES
from melm.tables.options import ReadOptions
from melm.tables.reading import Reading, read_roles
from melm.tables.roles import Proposal, Role, RolesError, Sorted, assign_roles, sort_columns
from melm.tables.stack import Stack
from melm.tables.table import Table
from service.errors import SHOWN_ERRORS, FieldError, Invalid, escape
from service.intake import formats as codecs
from service.intake.cells import Cells, read_cells
from service.intake.formats import Codec, Limits
from service.intake.formats.csv import CSV, PIECE_BYTES, TableReader, inspect_csv
from service.intake.formats.excel import EXCEL, open_sheet
from service.intake.formats.table import SPILL_BYTES, Array
from service.intake.inspection import check_training_data, label_errors
from worker.store.errors import StoreFull
from worker.store.records import ColumnRecord
from worker.store.table_part import TablePart

SHOWN_CATEGORIES = 50


@dataclass(frozen=True)
class Upload:
    """What the store keeps of a body."""

    X: Array
    y: Array
    feature_names: tuple[str, ...] | None
    part: TablePart | None = None
    columns: list[ColumnRecord] | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def parse_roles(text: str | None) -> dict[str, str]:
    """`{"column": "role", ...}` out of a query parameter."""
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
    """A body of labeled rows, taken in while it arrives.

    CSV is parsed as it comes. The other media types are read when they are whole: what is large of them lies in a file
    without a name until then, and is mapped. So what an upload takes in memory is bounded, but for JSON.
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

    def take(self, piece: bytes) -> None:
        """The next piece."""
        with room():
            if self._csv is not None:
                self._csv.take(piece)
            else:
                self._bytes.append(np.frombuffer(piece, np.uint8)[:, None])

    def inspect(self, is_complete: bool = True) -> Reading:
        """What would be read, with everything that is odd about it."""
        content = self._bytes.finish()[:, 0].data
        media_type = self._codec.media_type
        if self._codec is CSV:
            is_complete = is_complete and len(content) <= DRY_RUN_BYTES
            return inspect_csv(content[:DRY_RUN_BYTES], self._limits, self._options, is_complete)
        if self._codec is EXCEL:
            sheet, written = open_sheet(content, self._limits, self._options)
            return replace(inspect_csv(sheet, self._limits, written, is_complete=True), media_type=media_type)
        cells = read_cells(media_type, content, self._limits, self._options)
        if cells is not None:
            options = replace(self._options, columns={**self._options.columns, **cells.columns})
            return read_roles(media_type, cells.table, options, labels=None if cells.y is None else cells.y.tolist())
        matrix = self._codec.decode(content, self._limits, None)
        table = Table.of_numbers(matrix.X, matrix.feature_names)
        roles = dict.fromkeys(table.names, Role.NUMERIC)  # of a matrix every column is a feature
        labels = None if matrix.y is None else matrix.y.tolist()
        return read_roles(media_type, table, replace(self._options, columns=roles), labels=labels)

    def finish(self) -> Upload:
        """The rows. A table is sorted by the roles of its columns; a matrix is taken as it is."""
        with room():
            if self._csv is not None:
                return from_cells(Cells(self._csv.finish()), self._options)
            content = self._bytes.finish()[:, 0].data
            cells = read_cells(self._codec.media_type, content, self._limits, self._options)
            if cells is not None:
                return from_cells(cells, self._options)
            matrix = self._codec.decode(content, self._limits, self._options.target)
            return Upload(*check_training_data(matrix), matrix.feature_names, fields=matrix.fields)


@contextmanager
def room() -> Iterator[None]:
    """Refuse what the disk has no room for."""
    try:
        yield
    except OSError as error:
        raise StoreFull(f"The upload cannot be kept while it arrives: {error.strerror}.") from error


def read_upload(codec: Codec, content: bytes, limits: Limits, options: ReadOptions) -> Upload:
    """Labeled rows out of a whole body."""
    reception = Reception(codec, limits, options)
    for begin in range(0, len(content), PIECE_BYTES):
        reception.take(content[begin : begin + PIECE_BYTES])
    return reception.finish()


def from_cells(cells: Cells, options: ReadOptions) -> Upload:
    """A table, sorted by the roles of its columns."""
    try:
        roles = assign_roles(cells.table, {**options.columns, **cells.columns}, options.target)
        found = sort_columns(cells.table, roles)
    except RolesError as error:
        raise Invalid(
            [FieldError("" if name is None else f"/{escape(name)}", detail) for name, detail in error.problems]
        ) from None
    labels = found.labels if found.labels is not None else cells.y
    if labels is None:
        columns = ", ".join(cells.table.names[:50])
        fix = f"send y, or name the label column by ?target=; columns: {columns}"
        raise Invalid([FieldError("/y", "labels are missing", fix)])
    check_features(found.features, options.missing)
    upload = as_upload(found, labels)
    return replace(upload, columns=describe(cells.table, roles), fields=cells.fields)


def check_features(features: Table, missing: str) -> None:
    """Refuse a table without features, and gaps where they are not wanted."""
    if not features.names:
        raise Invalid([FieldError("", "no column is a feature", 'set roles by columns, such as {"age": "numeric"}')])
    if missing == "refuse":
        errors = [
            FieldError(
                f"/{np.flatnonzero(gaps)[0]}/{escape(name)}",
                f"column {name!r} has {gaps.sum()} gaps, the first in row {np.flatnonzero(gaps)[0]}",
                "missing=impute",
            )
            for name in features.names
            if (gaps := features.is_missing(name)).any()
        ]
        if errors:
            raise Invalid(errors[:SHOWN_ERRORS])


def as_upload(found: Sorted, labels: Array) -> Upload:
    """What is stored: a matrix where there is no more than that."""
    features = found.features
    if not needs_encoder(features) and found.ids is None and found.groups is None:
        matrix = codecs.Table(np.ascontiguousarray(features.numbers), labels, features.names)
        return Upload(*check_training_data(matrix), features.names)
    errors = list(label_errors(labels, len(features), ""))
    if errors:
        raise Invalid(errors)
    numbers = np.ascontiguousarray(features.numbers)
    for block in blocks(*numbers.shape):
        numbers[block][np.isnan(numbers[block])] = np.nan  # one of the many, so that equal tables have equal hashes
    part = TablePart(features.text_names, features.codes, features.categories, found.ids, found.id_name, found.groups)
    return Upload(numbers, labels, features.names, part)


def labeled_rows(upload: Upload) -> Labeled:
    """The rows for a fit in this process."""
    names, part = upload.feature_names, upload.part
    if part is None or names is None:
        return Labeled.check(upload.X, upload.y, None if names is None else list(names))
    numbers = tuple(name for name in names if name not in part.text_names)
    table = Table(names, numbers, upload.X, part.text_names, part.codes, part.categories)
    return Labeled.of_table(table, upload.y, part.groups, part.id_name)


def describe(table: Table, roles: Mapping[str, Proposal]) -> list[ColumnRecord]:
    """The columns as the dataset's summary shows them."""
    columns = []
    for name in table.names:
        role, reason = roles[name].role, roles[name].reason
        values = table.read_as_text(name)[1] if role in (Role.CATEGORICAL, Role.TARGET) else None
        columns.append(
            ColumnRecord(
                name=name,
                role=role,
                reason=reason,
                n_missing=int(table.is_missing(name).sum()),
                n_categories=None if values is None else len(values),
                categories=None if values is None else list(values[:SHOWN_CATEGORIES]),
            )
        )
    return columns
