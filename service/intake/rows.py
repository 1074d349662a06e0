"""Rows for a model: columns are matched by name, in any order, checked, and encoded as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from melm.model import Model
from melm.tables.encoding import Column, NumberColumn
from melm.tables.options import ReadOptions
from melm.tables.roles import Role, RolesError, labels_of
from melm.tables.rows import about_extra, find_columns, names_beyond, role_of
from melm.tables.sparse import is_sparse
from melm.tables.table import Table
from melm.typing import AnyArray, Matrix
from service.errors import SHOWN_ERRORS, FieldError, Invalid, escape
from service.intake import formats as codecs
from service.intake.cells import read_cells
from service.intake.formats import Codec, Limits, NamedArrays
from service.intake.formats.csv import CSV, as_field_error, with_lines
from service.intake.inspection import check_input
from service.intake.memory import hold

MATRICES = [codecs.CODECS[f"application/{kind}"] for kind in ("json", "x-npy", "x-npz")]
FOUND_OUT = ReadOptions()


@dataclass(frozen=True)
class ModelRows:
    """Rows as a model expects them, with warnings about them."""

    X: Matrix
    y: AnyArray | None = None
    ids: AnyArray | None = None
    warnings: tuple[str, ...] = ()


def read_rows(
    codec: Codec, content: bytes, limits: Limits, model: Model, written: ReadOptions = FOUND_OUT
) -> ModelRows:
    """The rows of a body. Matrices and plain JSON are read directly; everything else is read as a table.

    `written` has the dialect of CSV, and the column of a table that holds labels.
    """
    if model.encoder is None and codec in MATRICES:
        try:
            return from_matrix(codec.read_matrix(content, limits), model)
        except Invalid:
            table = from_cells(codec, content, limits, model, written)
            if table is None:
                raise
            return table
    try:
        found = from_cells(codec, content, limits, model, written)
    except Invalid as error:
        if codec is not CSV:
            raise
        raise Invalid(with_lines(error.errors, content, written)) from None
    return from_matrix(codec.read_matrix(content, limits), model) if found is None else found


def with_remarks(answer: NamedArrays, rows: ModelRows, id_name: str | None) -> NamedArrays:
    """The answer with the ids of the rows and with warnings about them."""
    if rows.ids is None or id_name is None:
        return answer if not rows.warnings else replace(answer, warnings=rows.warnings)
    arrays, columns = {**answer.arrays, "ids": rows.ids}, (*answer.columns, id_name)
    return replace(answer, arrays=arrays, columns=columns, warnings=rows.warnings)


def from_matrix(matrix: codecs.Matrices, model: Model) -> ModelRows:
    """Rows of numbers; columns are matched by name if both sides have names, else by position."""
    columns = model.columns
    if model.encoder is not None:
        if is_sparse(matrix.X):
            raise Invalid([FieldError("", "the model takes a table, not a sparse matrix", "send CSV, JSON or Parquet")])
        names = matrix.feature_names or columns
        if len(names) != matrix.X.shape[1]:
            raise Invalid([FieldError("/X", f"rows have {matrix.X.shape[1]} values, the model takes {len(columns)}")])
        return from_table(Table.of_numbers(matrix.X.astype(np.float64), names), model, matrix.y)
    X = check_input(matrix, len(columns), model.feature_names)
    extra = names_beyond(matrix.feature_names or (), columns)
    return ModelRows(X, matrix.y, warnings=about_extra(extra) if model.feature_names else ())


def from_cells(codec: Codec, content: bytes, limits: Limits, model: Model, written: ReadOptions) -> ModelRows | None:
    """The rows of a table; None where the body is a matrix."""
    encoded = () if model.encoder is None else model.encoder.columns
    kinds = {column.name: role_of(column) for column in encoded}
    target = written.target
    if model.feature_names is None:
        options = replace(written, others=Role.NUMERIC)
    else:
        roles = {name: kinds.get(name, Role.NUMERIC) for name in model.columns}
        options = replace(written, columns=roles, others=Role.IGNORE)
    cells = read_cells(codec.media_type, content, limits, options)
    if cells is None:
        return None
    table, y = cells.table, cells.y
    if target is not None and target in table.names:
        try:
            y = labels_of(table, target)
        except RolesError as error:
            raise Invalid([FieldError(f"/{escape(target)}", detail) for _, detail in error.problems]) from None
        table = table.select([name for name in table.names if name != target])
    if model.feature_names is None:
        return from_matrix(codecs.Matrices(np.ascontiguousarray(table.numbers), y), model)
    return from_table(table, model, y)


def from_table(table: Table, model: Model, y: AnyArray | None) -> ModelRows:
    """The columns of the model out of a table, encoded."""
    columns = model.columns
    known: Sequence[Column] = (
        model.encoder.columns if model.encoder else [NumberColumn(name, median=0.0) for name in columns]
    )
    table, problems, remarks = find_columns(table, known)
    if problems:
        raise Invalid([as_field_error(problem) for problem in problems[:SHOWN_ERRORS]])
    extra = [name for name in names_beyond(table.names, columns) if name != model.id_name]
    if model.encoder is None:
        X: AnyArray = np.ascontiguousarray(table.select(columns).numbers)
    else:
        X = model.encoder.encode(table)
    return ModelRows(X, y, ids_of(table, model.id_name), (*about_extra(extra), *remarks))


def ids_of(table: Table, name: str | None) -> AnyArray | None:
    """The ids of the rows, if a column holds them."""
    if name is None or name not in table.names:
        return None
    if table.is_text(name):
        hold(4 * len(table) * max(map(len, table.text(name)[1]), default=0))
    if table.is_missing(name).any():
        return np.array(["" if cell is None else str(cell) for cell in table.cells(name)])
    return labels_of(table, name)
