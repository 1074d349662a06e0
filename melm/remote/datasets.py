"""Datasets on the service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase as fnmatch
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from melm.remote.arrays import as_labels, as_rows, names_of, write_rows
from melm.remote.connection import HttpConnection
from melm.remote.records import Dataset, Label, Reading
from melm.remote.table_body import RowsLike, TableBody, file_body, frame_body, table_body
from melm.tables.content_hash import content_hash
from melm.tables.files import CSV, DRY_RUN_BYTES
from melm.tables.options import Missing, RareClasses, Unlabeled

PAGE_ROWS = 10_000


class TableOptions(TypedDict, total=False):
    """How a table is read. Every front end has these options under these names, with these texts.

    Parameters
    ----------
    target : str or None
        The column of labels.
    columns : mapping
        Roles by name, or by a pattern such as `q*`: numeric, categorical, time, id, group, weight, info, ignore or
        target. Roles of the other columns are proposed.
    missing : {"impute", "refuse"}, default="impute"
        Whether missing values are imputed (numbers by the median and a flag, text by a category of its own) or refused.
    drop_missing : bool, default=False
        Leave out rows that lack a feature.
    unlabeled : {"drop", "refuse"}, default="drop"
        What happens to rows without a label.
    rare_classes : {"refuse", "drop", "merge"}, default="refuse"
        What happens to classes of a single row: refused, left out, or merged into one called `other`.
    day_first : bool or None
        Whether 03/04/2024 is the third of April, if no date of the file settles it.
    delimiter : str or None
        The character that separates the cells of CSV.
    decimal : str or None
        The decimal mark of CSV.
    encoding : str or None
        The encoding of CSV: utf-8, utf-16, latin-1, cp1250, cp1251, cp1252, big5, euc-kr, gb18030, shift_jis.
    sheet : str or None
        The sheet of a workbook; the first with cells by default.
    missing_values : sequence of str
        Text that stands for a missing value in CSV, besides NA, NaN, null, ? and empty cells.
    """

    target: str | None
    columns: Mapping[str, str]
    missing: Missing | None
    drop_missing: bool
    unlabeled: Unlabeled
    rare_classes: RareClasses
    day_first: bool | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    sheet: str | None
    missing_values: Sequence[str]


def as_query(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as query parameters, without those that are not given."""
    query: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or (isinstance(value, Mapping | Sequence) and not len(value)):
            continue
        if isinstance(value, Mapping):
            value = json.dumps(dict(value))
        query[name] = value if not isinstance(value, bool) else str(value).lower()
    return query


class Datasets:
    """`client.datasets`: iterate over all, newest first, or take one by its id."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Dataset]:
        return map(Dataset.of, self._connection.pages("/v1/datasets"))

    def __getitem__(self, dataset_id: str) -> Dataset:
        return Dataset.of(self._connection.get(f"/v1/datasets/{dataset_id}"))

    def upload(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        name: str | None = None,
        **options: Unpack[TableOptions],
    ) -> Dataset:
        """Store labeled rows. A matrix that the service already has is recognized by its hash and not sent again.

        A SciPy sparse matrix is accepted, and is never converted to a dense one.

        Lists of dictionaries, and data frames with text, categories, dates or missing values, are tables: their labels
        are `y` or the column `target`, and they accept the options of `TableOptions`. A data frame that is passed with
        options is read as a table, too.
        """
        if y is not None and options.get("target") is not None:
            raise ValueError("Labels are either y or the column target.")
        table = frame_body(X, y) if options and names_of(X) is not None else table_body(X, y)
        if table is not None:
            return self.send(table, name, **options)
        if y is None:
            raise ValueError("Labels are missing: a matrix comes with y.")
        names = names_of(X) if feature_names is None else list(feature_names)
        rows, labels = as_rows(X), as_labels(y)
        digest = content_hash(rows, labels, names)
        for found in self._connection.get("/v1/datasets", content_hash=digest)["data"]:
            return Dataset.of(found)
        others = {} if names is None else {"feature_names": np.array(names, dtype=np.str_)}
        return self.send(TableBody(*write_rows(rows, y=labels, **others)), name)

    def upload_file(
        self, file: str | PathLike[str] | bytes, *, name: str | None = None, **options: Unpack[TableOptions]
    ) -> Dataset:
        """Store a table in a file: CSV, Excel, Parquet, an Arrow stream or npz. Its first bytes determine the format.

        The file is streamed. The attribute `columns` of the dataset has the roles of all columns, with reasons.
        """
        return self.send(file_body(file), name, **options)

    def inspect(self, rows: RowsLike | str | bytes, **options: Unpack[TableOptions]) -> Reading:
        """How `upload` or `upload_file` would read a table. Of a large CSV file only the beginning is read."""
        body = table_body(rows)
        if body is None:
            raise ValueError("A matrix is taken as it is: there is nothing to inspect.")
        file_bytes = body.n_bytes
        if body.media_type == CSV.media_type and isinstance(rows, str | PathLike):
            with Path(rows).open("rb") as file:
                body = TableBody(file.read(DRY_RUN_BYTES), CSV.media_type)
        return Reading.of(self._post(body, {"dry_run": True, "file_bytes": file_bytes, **options}))

    def rows(
        self, dataset: Dataset | str, *, rows: Sequence[int] = (), ids: Sequence[str] = ()
    ) -> dict[str, list[Label | None]]:
        """The rows of a dataset as they were uploaded, column by column; `rows` (numbers) and `ids` select some.

        `pandas.DataFrame(client.datasets.rows(dataset))` is the table.
        """
        columns: dict[str, list[Label | None]] = {}
        for page in self.pages(dataset, rows=rows, ids=ids):
            for column in page["columns"]:
                columns.setdefault(column["name"], []).extend(column["values"])
        return columns

    def pages(
        self, dataset: Dataset | str, *, rows: Sequence[int] = (), ids: Sequence[str] = ()
    ) -> Iterator[dict[str, Any]]:
        """The same page by page, in the form of the service: row numbers, and columns with their roles."""
        path = f"/v1/datasets/{dataset if isinstance(dataset, str) else dataset.id}/rows"
        offset: int | None = 0
        while offset is not None:
            asked = {"offset": offset, "limit": PAGE_ROWS, "rows": list(rows), "ids": list(ids)}
            page = self._connection.send("GET", path, params=asked).json()
            yield page
            offset = page["next_offset"]

    def send(self, body: TableBody, name: str | None = None, **options: Unpack[TableOptions]) -> Dataset:
        """Store the rows of a body."""
        told = {} if body.target is None else {"target": body.target}
        given = options.get("columns", {})
        by_type = {each: role for each, role in body.columns.items() if not any(fnmatch(each, key) for key in given)}
        return Dataset.of(self._post(body, {"name": name, **options, **told, "columns": {**by_type, **given}}))

    def _post(self, body: TableBody, options: Mapping[str, Any]) -> Any:
        response = self._connection.send(
            "POST", "/v1/datasets", params=as_query(options), headers=body.headers, content=body.content
        )
        return response.json()

    def delete(self, dataset_id: str) -> None:
        """Delete a dataset; a `Conflict` while a fit uses it."""
        self._connection.send("DELETE", f"/v1/datasets/{dataset_id}")
