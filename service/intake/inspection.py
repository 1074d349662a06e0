"""Checks of rows before they are stored or used for inference. All errors are reported at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

import numpy as np
import numpy.typing as npt

from melm.data.blocks import blocks
from melm.tables.sparse import is_sparse
from melm.typing import AnyArray, Matrix
from service.errors import SHOWN_PLACES, FieldError, Invalid
from service.intake.formats import Matrices
from service.intake.formats.table import cell_errors

MIN_ROWS_PER_CLASS = 2
MAX_NAME_LENGTH = 1_000
MAX_NAME_CHARACTERS = 1 << 23  # of all columns: a million of them have names of seven characters


def check_training_data(table: Matrices, pointer: str = "") -> tuple[Matrix, AnyArray]:
    """X and y of a table, checked for training."""
    if table.y is None:
        detail = "labels are missing"
        raise Invalid([FieldError(f"{pointer}/y", detail, "send y, or name the label column by ?target=")])
    errors = [
        *size_errors(table.X, pointer),
        *name_errors(table, pointer),
        *finite_errors(table.X, pointer),
        *label_errors(table.y, table.X.shape[0], pointer),
    ]
    if not errors and is_constant(table.X).all():
        errors.append(FieldError(f"{pointer}/X", "all columns are constant", "send at least one column that varies"))
    if errors:
        raise Invalid(errors)
    return table.X, table.y


def is_constant(X: Matrix) -> npt.NDArray[np.bool_]:
    """Which columns have a single value."""
    if is_sparse(X):
        same: npt.NDArray[np.bool_] = X.min(axis=0).toarray().ravel() == X.max(axis=0).toarray().ravel()
        return same
    constant = np.ones(X.shape[1], bool)
    for block in blocks(*X.shape):
        constant &= (X[0] == X[block]).all(axis=0)
    return constant


def check_input(table: Matrices, n_features: int, feature_names: Sequence[str] | None) -> Matrix:
    """X with the columns of a model, checked for inference. Columns are matched by name if both sides have names."""
    X = table.X
    if feature_names is not None and table.feature_names is not None and table.feature_names != tuple(feature_names):
        places = {name: index for index, name in enumerate(table.feature_names)}
        missing = [name for name in feature_names if name not in places]
        if missing:
            more = f" and {len(missing) - SHOWN_PLACES} more" if len(missing) > SHOWN_PLACES else ""
            raise Invalid([FieldError("", f"columns are missing: {', '.join(missing[:SHOWN_PLACES])}{more}")])
        X = X[:, [places[name] for name in feature_names]]
    # If the sum of squares is finite, so are all cells. If not, it may have overflowed: check the cells one by one.
    cells = X.data if is_sparse(X) else X
    errors = [] if isfinite(np.vdot(cells, cells)) else finite_errors(X, "")
    if X.shape[1] != n_features:
        errors.append(FieldError("/X", f"rows have {X.shape[1]} values, the model takes {n_features}"))
    if errors:
        raise Invalid(errors)
    return X


def check_known_labels(y: AnyArray | None, n_rows: int, classes: AnyArray) -> AnyArray:
    """Labels, checked: one per row, of classes that the model knows."""
    if y is None:
        raise Invalid([FieldError("/y", "labels are missing", "send y, or name the label column by ?target=")])
    if len(y) != n_rows or not n_rows:
        raise Invalid([FieldError("/y", f"there are {len(y)} labels for {n_rows} rows", "send one label per row")])
    known = set(classes.tolist())
    unknown = [label for label in np.unique(y).tolist() if label not in known]
    if unknown:
        shown = ", ".join(map(repr, unknown[:10]))
        raise Invalid(
            [FieldError("/y", f"labels that the model does not know: {shown}", f"classes: {classes.tolist()}")]
        )
    return y


def size_errors(X: Matrix, pointer: str) -> Iterator[FieldError]:
    """A table without rows or without columns."""
    for size, noun in zip(X.shape, ("rows", "columns"), strict=True):
        if not size:
            yield FieldError(f"{pointer}/X", f"there are no {noun}")


def name_errors(table: Matrices, pointer: str) -> Iterator[FieldError]:
    """Column names that are too many, too few, too long or not unique."""
    names = table.feature_names
    if names is None:
        return
    yield from length_errors(names, f"{pointer}/feature_names")
    n_columns = table.X.shape[1]
    if len(names) != n_columns:
        yield FieldError(f"{pointer}/feature_names", f"there are {len(names)} names for {n_columns} columns")
    if len(set(names)) < len(names):
        yield FieldError(f"{pointer}/feature_names", "names are given twice", "give every column a name of its own")


def length_errors(names: Sequence[str], pointer: str) -> Iterator[FieldError]:
    """Names that are too long; they are part of every response about a dataset."""
    longest = max(map(len, names), default=0)
    if longest > MAX_NAME_LENGTH:
        yield FieldError(pointer, f"a name has {longest} characters, more than the limit of {MAX_NAME_LENGTH}")
    if (n_characters := sum(map(len, names))) > MAX_NAME_CHARACTERS:
        limit = f"more than the limit of {MAX_NAME_CHARACTERS}"
        yield FieldError(pointer, f"the names have {n_characters} characters together, {limit}", "shorten them")


def finite_errors(X: Matrix, pointer: str) -> list[FieldError]:
    """Cells that are NaN or infinite."""
    if is_sparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        rows = np.searchsorted(X.indptr, bad, side="right") - 1
        found = zip(rows.tolist(), X.indices[bad].tolist(), map(str, X.data[bad]), strict=True)
        return cell_errors(((*cell, "is not finite") for cell in found), f"{pointer}/X", "send a finite number")
    cells = (
        (block.start + row, column, str(X[block.start + row, column]), "is not finite")
        for block in blocks(*X.shape)
        for row, column in np.argwhere(~np.isfinite(X[block])).tolist()
    )
    return cell_errors(cells, f"{pointer}/X", "send a finite number")


def label_errors(y: AnyArray, n_rows: int, pointer: str) -> Iterator[FieldError]:
    """Labels that do not match the rows, or have fewer than two classes."""
    if len(y) != n_rows:
        yield FieldError(f"{pointer}/y", f"there are {len(y)} labels for {n_rows} rows", "send one label per row")
        return
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        yield FieldError(f"{pointer}/y", "labels are not finite", "send one label per row")
        return
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        yield FieldError(
            f"{pointer}/y", "labels are not whole numbers: a quantity has no classes", "send classes as text"
        )
        return
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        yield FieldError(f"{pointer}/y", f"there is {len(classes)} class, not 2 or more", "send rows of two classes")
    rare = classes[counts < MIN_ROWS_PER_CLASS].tolist()
    if len(rare) == 1:
        detail = f"class {rare[0]!r} has 1 row, fewer than {MIN_ROWS_PER_CLASS}"
        yield FieldError(f"{pointer}/y", detail, "add rows of this class or leave it out")
    elif rare:
        shown = ", ".join(repr(label)[:40] for label in rare[:SHOWN_PLACES]) + (", ..." if rare[SHOWN_PLACES:] else "")
        detail = f"{len(rare)} classes have 1 row each, fewer than {MIN_ROWS_PER_CLASS}: {shown}"
        fix = "add rows of these classes or leave them out; name another target where this is a quantity"
        yield FieldError(f"{pointer}/y", detail, fix, len(rare))
