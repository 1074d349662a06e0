"""DataFrames of pandas, polars and pyarrow: which are used as matrices, and how the others are read as tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length

from melm.data.beyond_memory import is_of
from melm.data.labeled import Labeled, check_labels, counted
from melm.extras import check_extra
from melm.tables.encoding import Column, Encoder, NumberColumn
from melm.tables.options import ReadOptions
from melm.tables.problem import Problem, Severity
from melm.tables.reading import read_roles
from melm.tables.roles import Proposal, Role, by_name
from melm.tables.rows import about_extra, find_columns, names_beyond, shown
from melm.tables.table import Table
from melm.typing import Array

if TYPE_CHECKING:
    import narwhals

Columns: TypeAlias = Literal["auto"] | Mapping[str, str] | None

FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"))


def is_frame(X: object) -> bool:
    """Whether X is a DataFrame of pandas or polars, or a table of pyarrow."""
    return any(is_of(X, module, name) for module, name in FRAMES)


def is_table(X: object, columns: Columns) -> bool:
    """Whether X is read as a table. Otherwise it is used as a matrix."""
    if columns is not None and columns != "auto" and not isinstance(columns, Mapping):
        raise ValueError(f"columns={columns!r} is not 'auto', None, or a mapping of roles by column.")
    if columns is None or (columns == "auto" and not is_frame(X)):
        return False
    if not is_frame(X):
        raise ValueError(f"columns gives roles by name, and a {type(X).__name__} has no names: use a DataFrame.")
    return columns != "auto" or not _is_matrix(X)


def read_training(
    X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None, columns: Columns
) -> tuple[Labeled, dict[str, Proposal]]:
    """Labeled rows from a DataFrame, and the role of each of its columns, with the reason."""
    table = _as_table(X)
    check_consistent_length(table.numbers, y)
    rows, y, weights = counted(np.arange(len(table)), y, sample_weight)
    codes, _ = check_labels(y, weights)
    options = ReadOptions(columns=_categories(X) | _given(columns, table.names))
    reading = read_roles("", table if len(rows) == len(table) else table.take(rows), options, labels=codes)
    found = reading.content
    if reading.errors or found is None:
        raise ValueError(_wording(reading.errors))
    for problem in reading.problems:
        if problem.level is Severity.QUESTION:
            warnings.warn(f"{problem}. Convert the column to dates first where that is wrong.", stacklevel=4)
    if found.weights is not None and sample_weight is not None:
        raise ValueError("There are two weights of rows: a column with the role of weight, and sample_weight.")
    infinite = [name for name in found.features.number_names if np.isinf(found.features.number(name)).any()]
    if infinite:
        raise ValueError(f"Columns hold infinity: {shown(infinite)}.")
    counts = weights if found.weights is None else found.weights
    labeled = Labeled.of_table(found.features, y, found.groups, found.id_name, counts)
    return labeled, {each.name: Proposal(Role(each.role), each.reason) for each in reading.columns}


def read_rows(X: Any, names: Sequence[str], encoder: Encoder | None, fitted: Sequence[str] | None) -> Array:
    """The features of a model from a DataFrame, whose columns are found by name.

    `fitted` names all columns of the training DataFrame, if known. Other columns are refused then; without `fitted`,
    they are ignored with a warning.
    """
    table = _as_table(X)
    extra = names_beyond(table.names, names if fitted is None else fitted)
    if extra and fitted is not None:
        raise ValueError(f"X has columns that were not there at fit: {shown(extra)}. Leave them out.")
    known: Sequence[Column] = encoder.columns if encoder else [NumberColumn(name, median=0.0) for name in names]
    table = table.with_columns(dict(_written_numbers(table, known)))
    table, problems, remarks = find_columns(table, known, impute=encoder is not None)
    if problems:
        raise ValueError(_wording(problems))
    for remark in (*about_extra(extra), *remarks):
        warnings.warn(remark, stacklevel=5)
    return np.ascontiguousarray(table.select(names).numbers) if encoder is None else encoder.encode(table)


def _open(X: Any) -> narwhals.DataFrame[Any]:
    import narwhals

    return narwhals.from_native(X, eager_only=True)


def _is_matrix(X: Any) -> bool:
    """Whether every column is numeric and without missing values."""
    import narwhals

    try:
        columns = list(_open(X).iter_columns())
    except narwhals.exceptions.DuplicateError:  # leave the check to scikit-learn
        return True
    return all(_is_of_numbers(column) for column in columns)


def _is_of_numbers(column: narwhals.Series[Any]) -> bool:
    import narwhals

    if column.dtype == narwhals.Object:
        return all(isinstance(cell, float | int | np.number) and cell == cell for cell in column.to_list())
    if column.dtype == narwhals.Unknown:  # sparse columns among others: leave the check to scikit-learn
        return True
    if not column.dtype.is_numeric() and column.dtype != narwhals.Boolean:
        return False
    missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return not missing.any()


def _as_table(X: Any) -> Table:
    names = [name for name in X.columns if not isinstance(name, str)] if is_of(X, "pandas", "DataFrame") else []
    if names:
        raise ValueError(
            f"The column {names[0]!r} has no name that is text. A DataFrame with text, dates or missing values is read "
            "by the names of its columns: X.columns = X.columns.astype(str)"
        )
    try:
        from melm.tables import arrow
    except ModuleNotFoundError:
        check_extra("tables", "a DataFrame with text, dates or missing values")
        raise
    try:
        return arrow.from_frame(X)
    except arrow.ArrowError as error:
        raise ValueError(" ".join(_of_column(*problem) for problem in error.problems)) from None


def _of_column(name: str | None, detail: str, fix: str | None) -> str:
    subject = "X" if name is None else f"The column {name!r}"
    return f"{subject} {detail}." if fix is None else f"{subject} {detail}: {fix}."


def _categories(X: Any) -> dict[str, str]:
    """Columns with a categorical type in the DataFrame: they are not numbers, whatever their values."""
    import narwhals

    kinds = _open(X).schema.items()
    return {name: Role.CATEGORICAL for name, kind in kinds if kind in (narwhals.Categorical, narwhals.Enum)}


def _given(columns: Columns, names: Sequence[str]) -> dict[str, str]:
    if not isinstance(columns, Mapping):
        return {}
    roles = by_name(columns, names)
    target = next((name for name, role in roles.items() if role == Role.TARGET), None)
    if target is not None:
        raise ValueError(f"columns makes {target!r} the target, but the labels are y.")
    return roles


def _written_numbers(table: Table, columns: Iterable[Column]) -> Iterable[tuple[str, Array]]:
    """Numeric columns that are stored as text, or that are empty."""
    for column in columns:
        if isinstance(column, NumberColumn) and column.name in table.names and table.is_text(column.name):
            try:
                yield column.name, table.read_as_number(column.name)
            except ValueError:  # find_columns reports it
                continue


def _wording(problems: Sequence[Problem]) -> str:
    """The problems in words, with fixes as far as these are roles."""
    sentences = []
    for problem in problems:
        fixes = [str(fix) for fix in problem.fixes if fix.parameter == "columns"]
        advice = [*fixes, *([] if problem.advice is None else [problem.advice])]
        sentences.append(f"{problem}; {'; '.join(advice)}." if advice else f"{problem}.")
    return " ".join(sentences)
