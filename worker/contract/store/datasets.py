"""Datasets: content-addressed, stored as blocks of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worker.contract.dataset_hash import content_hash
from worker.contract.errors import Conflict, Damaged, IdempotencyMismatch, StoreUnavailable
from worker.contract.identifier import new_id
from worker.contract.records import DatasetRecord, Idempotency, Page
from worker.contract.store.connection import Connection, expiry, key, milliseconds, timestamp

Array = npt.NDArray[Any]
BLOCK_BYTES = 4 << 20
UNFINISHED_SECONDS = 600  # blocks of a dataset that was never finished vanish after this


class Datasets:
    """The datasets of all tenants."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        tenant: str,
        X: Array,
        y: Array,
        *,
        feature_names: Sequence[str] | None = None,
        name: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency: Idempotency | None = None,
    ) -> tuple[DatasetRecord, bool]:
        """Store a dataset, or find the one with the same content. Tells whether it was made now.

        A create that breaks off leaves nothing behind: blocks live for minutes only, until the last step keeps them.
        """
        self._connection.refuse_when_full()
        X = np.ascontiguousarray(X, X.dtype.newbyteorder("<"))
        settings = self._connection.settings
        now = self._connection.now()
        classes, counts = np.unique(y, return_counts=True)
        blocks = [_to_npy(rows) for rows in _row_blocks(X)]
        record = DatasetRecord(
            id=new_id("ds"),
            created_at=now,
            expires_at=expiry(now, settings.dataset_lifetime_seconds),
            name=name,
            metadata=dict(metadata or {}),
            content_hash=content_hash(X, y, feature_names),
            n_rows=X.shape[0],
            n_features=X.shape[1],
            dtype=X.dtype.name,
            classes=classes.tolist(),
            class_counts=counts.tolist(),
            constant_columns=np.flatnonzero((X[0] == X).all(axis=0)).tolist(),
            feature_names=None if feature_names is None else list(feature_names),
            n_bytes=sum(map(len, blocks)),
            n_blocks=len(blocks),
        )
        existing = self.find(tenant, record.content_hash) if idempotency is None else None
        if existing is not None:
            return existing, False
        self._connection.add_tenant(tenant)
        place = key(tenant, "dataset", record.id, "blocks")
        for field, block in [("labels", _to_npy(y)), *((str(index), block) for index, block in enumerate(blocks))]:
            self._connection.call("HSET", place, field, block)
            self._connection.call("PEXPIRE", place, milliseconds(UNFINISHED_SECONDS))
        arguments = {
            "id": record.id,
            "content_hash": record.content_hash,
            "n_blocks": len(blocks),
            "expires_at": None if record.expires_at is None else timestamp(record.expires_at),
            **self._connection.idempotency_arguments(idempotency),
        }
        answer, *rest = self._connection.run("dataset/create", tenant, arguments, record.model_dump_json().encode())
        if answer == "created":
            return record, True
        self._connection.call("UNLINK", place)
        if answer == "mismatch":
            raise IdempotencyMismatch("This idempotency key was used with another body.")
        if answer == "incomplete":
            raise StoreUnavailable("The store lost a part of the dataset while it was written.")
        return self.get(tenant, rest[0].decode()), False

    def find(self, tenant: str, content_hash: str) -> DatasetRecord | None:
        """The dataset with this content, if there is one."""
        id = self._connection.call("HGET", key(tenant, "datasets", "hashes"), content_hash)
        if id is None:
            return None
        data = self._connection.call("GET", key(tenant, "dataset", id.decode()))
        return None if data is None else DatasetRecord.model_validate_json(data)

    def get(self, tenant: str, id: str) -> DatasetRecord:
        """A dataset's record."""
        data = self._connection.call("GET", key(tenant, "dataset", id))
        if data is None:
            self._connection.raise_missing("dataset", tenant, id)
        return DatasetRecord.model_validate_json(data)

    def page(self, tenant: str, *, limit: int = 20, cursor: str | None = None) -> Page[DatasetRecord]:
        """Some of the datasets, newest first."""
        ids = self._connection.page_ids(key(tenant, "datasets"), limit, cursor)
        values = self._connection.call("MGET", *(key(tenant, "dataset", id) for id in ids[:limit])) if ids else []
        records = [DatasetRecord.model_validate_json(value) for value in values if value is not None]
        following = ids[limit - 1] if len(ids) > limit else None
        return Page(data=records, next_cursor=following)

    def delete(self, tenant: str, id: str, *, reason: str = "deleted") -> None:
        """Delete a dataset and leave a tombstone. Conflict while an active fit uses it."""
        arguments = {"id": id, "reason": reason, **self._connection.tombstone_arguments()}
        (answer,) = self._connection.run("dataset/delete", tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("dataset", tenant, id)
        if answer == "in use":
            raise Conflict(f"The dataset {id!r} is used by a fit that has not ended.")

    def load(self, tenant: str, id: str) -> tuple[Array, Array]:
        """The values, checked against the content hash."""
        record = self.get(tenant, id)
        place = key(tenant, "dataset", id, "blocks")
        X = np.empty((record.n_rows, record.n_features), record.dtype)
        try:
            n_read = 0
            for index in range(record.n_blocks):
                rows = _from_npy(self._connection.call("HGET", place, str(index)))
                X[n_read : n_read + len(rows)] = rows
                n_read += len(rows)
            y = _from_npy(self._connection.call("HGET", place, "labels"))
            if n_read == record.n_rows and content_hash(X, y, record.feature_names) == record.content_hash:
                return X, y
        except (ValueError, EOFError):
            pass
        raise Damaged(f"The stored values of dataset {id!r} are not those that were uploaded.")


def _row_blocks(X: Array) -> Iterator[Array]:
    """Runs of rows, each of about BLOCK_BYTES."""
    n_rows = max(BLOCK_BYTES // max(X.itemsize * X.shape[1], 1), 1)
    for first in range(0, len(X), n_rows):
        yield X[first : first + n_rows]


def _to_npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _from_npy(data: bytes | None) -> Array:
    if data is None:
        raise ValueError("missing")
    array: Array = np.load(io.BytesIO(data), allow_pickle=False)
    return array
