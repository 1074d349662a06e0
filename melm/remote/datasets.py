"""Datasets on the service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.remote.arrays import NPZ, as_labels, as_rows, names_of, write_npz
from melm.remote.connection import Connection
from melm.remote.records import Dataset, Reading
from melm.remote.table_body import Rows, TableBody, file_body, table_body
from melm.tables.content_hash import content_hash
from melm.tables.files import CSV, DRY_RUN_BYTES

Missing: TypeAlias = Literal["impute", "refuse"]


class Datasets:
    """`client.datasets`: iterate over all, newest first, or take one by its id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Dataset]:
        return map(Dataset.of, self._connection.pages("/v1/datasets"))

    def __getitem__(self, dataset_id: str) -> Dataset:
        return Dataset.of(self._connection.get(f"/v1/datasets/{dataset_id}"))

    def upload(
        self,
        X: Rows,
        y: npt.ArrayLike | None = None,
        *,
        target: str | None = None,
        columns: Mapping[str, str] | None = None,
        missing: Missing | None = None,
        feature_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Store labeled rows. A matrix that the service already has is recognized by its hash and not sent again.

        Lists of dictionaries, and data frames with text or gaps, are tables: their labels are `y` or the column
        `target`, and `columns` and `missing` are those of `upload_file`.
        """
        if (table := table_body(X, y)) is not None:
            return self._send(table, target=target, columns=columns, missing=missing, name=name)
        if y is None:
            raise ValueError("Labels are missing: a matrix comes with y.")
        names = names_of(X) if feature_names is None else list(feature_names)
        rows, labels = as_rows(X), as_labels(y)
        digest = content_hash(rows, labels, names)
        for found in self._connection.get("/v1/datasets", content_hash=digest)["data"]:
            return Dataset.of(found)
        arrays = {"X": rows, "y": labels} | ({} if names is None else {"feature_names": np.array(names, dtype=np.str_)})
        return self._send(TableBody(write_npz(**arrays), NPZ), name=name)

    def upload_file(
        self,
        file: str | PathLike[str] | bytes,
        *,
        target: str | None = None,
        columns: Mapping[str, str] | None = None,
        missing: Missing | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing_values: Sequence[str] = (),
        name: str | None = None,
    ) -> Dataset:
        """Store a table as it is found: a file by its path or its bytes, with text, gaps and ids.

        Parameters
        ----------
        file : path or bytes
            CSV, Excel, Parquet, an Arrow stream or npz, as its first bytes tell. A file is read while it is sent.
        target : str or None
            The column of labels.
        columns : mapping or None
            Roles of columns: numeric, categorical, id, group, ignore or target. The others are proposed by the service;
            the dataset's `columns` shows all of them with reasons.
        missing : {"impute", "refuse"} or None
            Whether gaps are taken, as they are by default, or are an error.
        delimiter, decimal, encoding : str or None
            How CSV is written, where that is not found out.
        sheet : str or None
            The sheet of a workbook, the first with cells by default.
        missing_values : sequence of str
            What stands for a gap in CSV beside the usual.
        """
        return self._send(
            file_body(file),
            target=target,
            columns=columns,
            missing=missing,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            sheet=sheet,
            missing_values=list(missing_values) or None,
            name=name,
        )

    def inspect(
        self,
        rows: Rows | str | bytes,
        *,
        target: str | None = None,
        columns: Mapping[str, str] | None = None,
        missing: Missing | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing_values: Sequence[str] = (),
    ) -> Reading:
        """What `upload` or `upload_file` with the same options would read; of a large CSV file its beginning tells."""
        body = table_body(rows)
        if body is None:
            raise ValueError("A matrix is taken as it is: there is nothing to inspect.")
        file_bytes = body.n_bytes
        if body.media_type == CSV.media_type and isinstance(rows, str | PathLike):
            with Path(rows).open("rb") as file:
                body = TableBody(file.read(DRY_RUN_BYTES), CSV.media_type)
        document = self._post(
            body,
            dry_run="true",
            file_bytes=file_bytes,
            target=target,
            columns=columns,
            missing=missing,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            sheet=sheet,
            missing_values=list(missing_values) or None,
        )
        return Reading.of(document)

    def _send(self, body: TableBody, **options: Any) -> Dataset:
        return Dataset.of(self._post(body, **options))

    def _post(self, body: TableBody, *, columns: Mapping[str, str] | None = None, **options: Any) -> Any:
        given = {**options, "columns": json.dumps(dict(columns)) if columns else None}
        response = self._connection.send(
            "POST",
            "/v1/datasets",
            params={name: value for name, value in given.items() if value is not None},
            headers=body.headers,
            content=body.content,
        )
        return response.json()

    def delete(self, dataset_id: str) -> None:
        """Delete a dataset; a `Conflict` while a fit uses it."""
        self._connection.send("DELETE", f"/v1/datasets/{dataset_id}")
