"""Datasets on the service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from melm.remote.arrays import CSV, NPZ, PARQUET, as_labels, as_rows, content_hash, names_of, write_npz
from melm.remote.connection import Connection
from melm.remote.records import Dataset


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
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Store labeled rows. Content that the service already has is recognized by its hash and not sent again."""
        names = names_of(X) if feature_names is None else list(feature_names)
        rows, labels = as_rows(X), as_labels(y)
        digest = content_hash(rows, labels, names)
        for found in self._connection.get("/v1/datasets", content_hash=digest)["data"]:
            return Dataset.of(found)
        arrays = {"X": rows, "y": labels} | ({} if names is None else {"feature_names": np.array(names, dtype=np.str_)})
        response = self._connection.send(
            "POST",
            "/v1/datasets",
            params={} if name is None else {"name": name},
            headers={"Content-Type": NPZ},
            content=write_npz(**arrays),
        )
        return Dataset.of(response.json())

    def upload_table(
        self,
        table: str | PathLike[str] | bytes,
        *,
        target: str | None = None,
        columns: Mapping[str, str] | None = None,
        media_type: str | None = None,
        name: str | None = None,
        missing: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        missing_values: Sequence[str] = (),
    ) -> Dataset:
        """Store a table as it is found, a CSV or Parquet file or its bytes, with text, gaps and ids.

        `columns` sets roles (numeric, categorical, id, group, ignore, target) where those are not right that the
        service proposes and shows in the dataset's `columns`. How CSV is written is found out, or said by the last four.
        """
        content = table if isinstance(table, bytes) else Path(table).read_bytes()
        found = PARQUET if content.startswith(b"PAR1") else NPZ if content.startswith(b"PK\x03\x04") else CSV
        given: dict[str, str | list[str] | None] = {
            "target": target,
            "columns": json.dumps(dict(columns)) if columns else None,
            "name": name,
            "missing": missing,
            "delimiter": delimiter,
            "decimal": decimal,
            "encoding": encoding,
            "missing_values": list(missing_values) or None,
        }
        response = self._connection.send(
            "POST",
            "/v1/datasets",
            params={key: value for key, value in given.items() if value is not None},
            headers={"Content-Type": media_type or found},
            content=content,
        )
        return Dataset.of(response.json())

    def delete(self, dataset_id: str) -> None:
        """Delete a dataset; a `Conflict` while a fit uses it."""
        self._connection.send("DELETE", f"/v1/datasets/{dataset_id}")
