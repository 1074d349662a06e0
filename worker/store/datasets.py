"""Datasets: content-addressed, stored as blocks of rows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from melm.tables.content_hash import content_hash
from melm.tables.sparse import canonical, is_sparse
from melm.tables.table import Table
from melm.typing import AnyArray, Matrix
from worker.store.connection import StoreConnection, expiry, milliseconds, timestamp
from worker.store.errors import Conflict, ContractError, Damaged, IdempotencyMismatch, NotFound, StoreUnavailable
from worker.store.identifier import new_id
from worker.store.keys import key
from worker.store.quotas import Quotas
from worker.store.records import ColumnRecord, DatasetRecord, Idempotency, Page
from worker.store.scripts import script
from worker.store.table_part import TablePart

Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]
BLOCK_BYTES = 4 << 20
PAGE_BYTES = 4 << 20  # of all records in a page
UNFINISHED_SECONDS = 60  # an unfinished dataset expires so long after its last block


@dataclass(frozen=True)
class Values:
    """The values of a dataset; `part` has what a table contains in addition to numbers."""

    X: Matrix
    y: AnyArray
    part: TablePart | None

    @property
    def n_bytes(self) -> int:
        """Their size, in memory or memory-mapped."""
        arrays = [*_arrays_of(self.X), self.y]
        return sum(array.nbytes for array in arrays) + (0 if self.part is None else self.part.n_bytes)

    def protect(self) -> None:
        """Make the values read-only, because other processes may have mapped them."""
        for array in _arrays_of(self.X):
            array.flags.writeable = False


def _in_memory(n_bytes: int) -> Bytes:
    return np.empty(n_bytes, np.uint8)


class Datasets:
    """The datasets of all tenants."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection
        self._quotas = Quotas(connection)

    def create(
        self,
        tenant: str,
        X: Matrix,
        y: AnyArray,
        *,
        feature_names: Sequence[str] | None = None,
        part: TablePart | None = None,
        info: Table | None = None,
        columns: Sequence[ColumnRecord] | None = None,
        n_unlabeled: int = 0,
        name: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency: Idempotency | None = None,
    ) -> tuple[DatasetRecord, bool]:
        """Store a dataset, or find the one with the same content. Also returns whether it is new.

        For a table, X has the columns of numbers, `part` the other columns that a fit uses, `info` those that are only
        shown, and `columns` describes all of them.
        An interrupted call leaves nothing behind: blocks expire after a minute unless the last step keeps them.
        """
        X = _in_store_order(X)
        slices = _blocks_of(X, part)
        record = self._describe(X, y, slices, feature_names, part).model_copy(
            update={
                "name": name,
                "metadata": dict(metadata or {}),
                "columns": None if columns is None else list(columns),
                "n_unlabeled": n_unlabeled,
                "info_hash": None if info is None else hash_of_info(info),
            }
        )
        existing = self.find(tenant, record.address) if idempotency is None else None
        if existing is not None:
            return existing, False
        fields = {"labels": _labels_to_bytes(y, part)} | ({} if info is None else {"info": _info_to_bytes(info)})
        n_bytes = record.n_bytes + sum(map(len, fields.values()))
        self._quotas.check_bytes(tenant, n_bytes)
        blocks = (
            (str(i), _to_bytes(X[rows], None if part is None else part.codes[rows])) for i, rows in enumerate(slices)
        )
        self._write(key(tenant, "dataset", record.id, "blocks"), chain(fields.items(), blocks))
        return self._keep(tenant, record, n_bytes, idempotency)

    def _describe(
        self,
        X: Matrix,
        y: AnyArray,
        slices: Sequence[slice],
        feature_names: Sequence[str] | None,
        part: TablePart | None,
    ) -> DatasetRecord:
        """The record of these rows, without what the caller says about them."""
        now = self._connection.now()
        classes, counts = np.unique(y, return_counts=True)
        text_names = () if part is None else part.text_names
        constant = _constant_columns(X, slices)
        if feature_names is not None and text_names:
            constant = np.array([j for j, n in enumerate(feature_names) if n not in text_names], int)[constant]
        return DatasetRecord(
            id=new_id("ds"),
            created_at=now,
            expires_at=expiry(now, self._connection.settings.dataset_lifetime_seconds),
            content_hash=content_hash(X, y, feature_names, part),
            n_rows=X.shape[0],
            n_features=X.shape[1] + len(text_names),
            dtype=X.dtype.name,
            classes=classes.tolist(),
            class_counts=counts.tolist(),
            constant_columns=constant.tolist(),
            feature_names=None if feature_names is None else list(feature_names),
            n_bytes=sum(array.nbytes for array in _arrays_of(X)) + (0 if part is None else part.codes.nbytes),
            n_blocks=len(slices),
            text_names=list(text_names),
            has_part=part is not None,
            n_nonzero=X.nnz if is_sparse(X) else None,
            first_rows=[rows.start for rows in slices] if is_sparse(X) else [],
        )

    def _write(self, place: str, fields: Iterable[tuple[str, bytes]]) -> None:
        """Write blocks that expire. Each block renews the expiry of all."""
        expire = ("PEXPIRE", place, milliseconds(UNFINISHED_SECONDS))
        try:
            for field, block in fields:
                self._connection.refuse_when_full()
                self._connection.call_many([("HSET", place, field, block), expire])
        except ContractError:
            with suppress(ContractError):  # the store is unavailable: the blocks will expire
                self._connection.call("UNLINK", place)
            raise

    def _keep(
        self, tenant: str, record: DatasetRecord, n_bytes: int, idempotency: Idempotency | None
    ) -> tuple[DatasetRecord, bool]:
        """Keep the blocks in one last step, or find the dataset that is there already."""
        arguments = {
            "id": record.id,
            "address": record.address,
            "n_blocks": record.n_blocks + (record.info_hash is not None),
            "n_bytes": n_bytes,
            **self._quotas.arguments(),
            "expires_at": None if record.expires_at is None else timestamp(record.expires_at),
            **self._connection.idempotency_arguments(idempotency),
        }
        answer, *rest = self._connection.run(
            script("dataset/create"), tenant, arguments, record.model_dump_json().encode()
        )
        if answer == "created":
            return record, True
        self._connection.call("UNLINK", key(tenant, "dataset", record.id, "blocks"))
        if answer == "mismatch":
            raise IdempotencyMismatch("This idempotency key was used with another body.")
        if answer == "over quota":
            self._quotas.refuse(rest)
        if answer == "incomplete":
            raise StoreUnavailable("The store lost a part of the dataset while it was written.")
        return self.get(tenant, rest[0].decode()), False

    def find(self, tenant: str, address: str) -> DatasetRecord | None:
        """The dataset with this content hash, or None."""
        id = self._connection.call("HGET", key(tenant, "datasets", "hashes"), address)
        if id is None:
            return None
        data = self._connection.call("GET", key(tenant, "dataset", id.decode()))
        return None if data is None else DatasetRecord.model_validate_json(data)

    def get(self, tenant: str, id: str) -> DatasetRecord:
        """A dataset's record."""
        _check_id(id)
        data = self._connection.call("GET", key(tenant, "dataset", id))
        if data is None:
            self._connection.raise_missing("dataset", tenant, id)
        return DatasetRecord.model_validate_json(data)

    def page(self, tenant: str, *, limit: int = 20, cursor: str | None = None) -> Page[DatasetRecord]:
        """A page of datasets, newest first."""
        ids = self._connection.page_ids(key(tenant, "datasets"), limit, cursor)
        names = [key(tenant, "dataset", id) for id in ids[:limit]]
        sizes = accumulate(self._connection.call_many([("STRLEN", name) for name in names]))
        shown = max(sum(size <= PAGE_BYTES for size in sizes), 1)  # a record with many column names is large
        values = self._connection.call("MGET", *names[:shown]) if ids else []
        records = [DatasetRecord.model_validate_json(value) for value in values if value is not None]
        following = ids[shown - 1] if len(ids) > shown else None
        return Page(data=records, next_cursor=following)

    def delete(self, tenant: str, id: str, *, reason: str = "deleted") -> None:
        """Delete a dataset and leave a tombstone. Conflict while an active fit uses it."""
        _check_id(id)
        data = self._connection.call("GET", key(tenant, "dataset", id))
        address = "" if data is None else DatasetRecord.model_validate_json(data).address
        arguments = {"id": id, "address": address, "reason": reason, **self._connection.tombstone_arguments()}
        (answer,) = self._connection.run(script("dataset/delete"), tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("dataset", tenant, id)
        if answer == "in use":
            raise Conflict(f"The dataset {id!r} is used by a fit that has not ended.")

    def load(self, tenant: str, id: str, make_room: Callable[[int], Bytes] = _in_memory) -> Values:
        """The values, verified by the content hash. `make_room` allocates the memory for them."""
        record = self.get(tenant, id)
        place = key(tenant, "dataset", id, "blocks")
        try:
            labels = _present(self._connection.call("HGET", place, "labels"))
            room = make_room(n_value_bytes(record) + len(labels))
            if record.n_nonzero is None:
                X, codes = _matrices(record, room)
                n_read = 0
                for rows, row_codes in self._blocks(tenant, record):
                    X[n_read : n_read + len(rows)] = rows
                    codes[n_read : n_read + len(rows)] = row_codes
                    n_read += len(rows)
            else:
                n_read = _fill_sparse(record, room, (rows for rows, _ in self._blocks(tenant, record)))
            room[n_value_bytes(record) :] = np.frombuffer(labels, np.uint8)
        except (ValueError, EOFError):
            raise _damaged(record) from None
        if n_read != record.n_rows:
            raise _damaged(record)
        return view(record, room)

    def blocks(self, tenant: str, record: DatasetRecord) -> Iterator[tuple[AnyArray, Codes]]:
        """Numbers and codes block by block, so that all rows can be processed in little memory."""
        try:
            for rows, codes in self._blocks(tenant, record):
                if record.n_nonzero is None:
                    yield rows, codes
                else:
                    for some in _row_blocks(rows.shape[0], rows.dtype.itemsize * rows.shape[1]):
                        yield rows[some].toarray(), codes[some]
        except (ValueError, EOFError):
            raise _damaged(record) from None

    def labels(self, tenant: str, record: DatasetRecord) -> tuple[AnyArray, TablePart | None]:
        """The labels of all rows, and the part of a table without its codes."""
        place = key(tenant, "dataset", record.id, "blocks")
        try:
            file = io.BytesIO(_present(self._connection.call("HGET", place, "labels")))
            no_codes = np.empty((0, len(record.text_names)), np.int32)
            return _read(file), _read_part(file, record, no_codes) if record.has_part else None
        except (ValueError, EOFError):
            raise _damaged(record) from None

    def info(self, tenant: str, record: DatasetRecord) -> Table | None:
        """The columns that are only shown, of all rows."""
        if record.info_hash is None:
            return None
        try:
            data = self._connection.call("HGET", key(tenant, "dataset", record.id, "blocks"), "info")
            info = _read_info(io.BytesIO(_present(data)))
            if hash_of_info(info) == record.info_hash:
                return info
        except (ValueError, EOFError, KeyError, TypeError):
            pass
        raise _damaged(record)

    def take(self, tenant: str, record: DatasetRecord, rows: npt.NDArray[np.intp]) -> tuple[AnyArray, Codes]:
        """Numbers and codes of some rows, in the given order. Reads only the blocks that contain them."""
        n_texts = len(record.text_names)
        X = np.empty((len(rows), record.n_features - n_texts), record.dtype)
        codes = np.empty((len(rows), n_texts), np.int32)
        begins = record.first_rows or range(0, record.n_rows, _rows_together(X.itemsize * X.shape[1] + 4 * n_texts))
        try:
            for index, (begin, end) in enumerate(zip(begins, [*begins[1:], record.n_rows], strict=True)):
                here = np.flatnonzero((rows >= begin) & (rows < end))
                if len(here):
                    numbers, texts = self._block(tenant, record, index)
                    some = numbers[rows[here] - begin]
                    X[here], codes[here] = (
                        some if record.n_nonzero is None else some.toarray(),
                        texts[rows[here] - begin],
                    )
        except (ValueError, EOFError, IndexError):
            raise _damaged(record) from None
        return X, codes

    def _blocks(self, tenant: str, record: DatasetRecord) -> Iterator[tuple[Matrix, Codes]]:
        return (self._block(tenant, record, index) for index in range(record.n_blocks))

    def _block(self, tenant: str, record: DatasetRecord, index: int) -> tuple[Matrix, Codes]:
        place = key(tenant, "dataset", record.id, "blocks")
        file = io.BytesIO(_present(self._connection.call("HGET", place, str(index))))
        X = _read(file)
        if record.n_nonzero is not None:
            indices, indptr = _read(file), _read(file)
            n_rows = len(indptr) - 1
            return csr_array((X, indices, indptr), shape=(n_rows, record.n_features)), np.empty((n_rows, 0), np.int32)
        return X, _read(file) if record.has_part else np.empty((len(X), 0), np.int32)


def _check_id(id: str) -> None:
    """Refuse ids with a colon, which would name other keys of a dataset."""
    if ":" in id:
        raise NotFound("dataset", id)


def view(record: DatasetRecord, room: Bytes) -> Values:
    """The values in a contiguous buffer: X by rows, codes by rows, labels. Raises Damaged if the hash differs.

    A sparse X is stored as its nonzero values, their columns, and the row offsets (CSR).
    """
    try:
        X, codes = _matrices(record, room) if record.n_nonzero is None else _sparse_matrix(record, room)
        file = io.BytesIO(room[n_value_bytes(record) :].tobytes())
        y = _read(file)
        part = _read_part(file, record, codes) if record.has_part else None
        if content_hash(X, y, record.feature_names, part) == record.content_hash:
            return Values(X, y, part)
    except (ValueError, EOFError):
        pass
    raise _damaged(record)


def n_value_bytes(record: DatasetRecord) -> int:
    """The size of the numbers and codes of a dataset, which the labels follow."""
    if record.n_nonzero is not None:
        return record.n_nonzero * (np.dtype(record.dtype).itemsize + 4) + (record.n_rows + 1) * 8
    n_texts = len(record.text_names)
    return record.n_rows * ((record.n_features - n_texts) * np.dtype(record.dtype).itemsize + 4 * n_texts)


def _matrices(record: DatasetRecord, room: Bytes) -> tuple[AnyArray, Codes]:
    n_texts = len(record.text_names)
    n_numbers = record.n_features - n_texts
    end = record.n_rows * n_numbers * np.dtype(record.dtype).itemsize
    X = room[:end].view(record.dtype).reshape(record.n_rows, n_numbers)
    codes = room[end : n_value_bytes(record)].view(np.int32).reshape(record.n_rows, n_texts)
    return X, codes


def _sparse_arrays(record: DatasetRecord, room: Bytes) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The CSR arrays of a sparse matrix: row offsets, values and columns."""
    n_nonzero = record.n_nonzero or 0
    sizes = np.cumsum([(record.n_rows + 1) * 8, n_nonzero * np.dtype(record.dtype).itemsize, n_nonzero * 4])
    begins, values, columns = np.split(room[: sizes[-1]], sizes[:-1])
    return begins.view(np.int64), values.view(record.dtype), columns.view(np.int32)


def _sparse_matrix(record: DatasetRecord, room: Bytes) -> tuple[Matrix, Codes]:
    begins, values, columns = _sparse_arrays(record, room)
    X = csr_array((values, columns, begins), shape=(record.n_rows, record.n_features))
    return X, np.empty((record.n_rows, 0), np.int32)


def _fill_sparse(record: DatasetRecord, room: Bytes, blocks: Iterable[Matrix]) -> int:
    """Concatenate the rows of all blocks; returns their number."""
    begins, values, columns = _sparse_arrays(record, room)
    begins[0] = n_read = n_cells = 0
    for rows in blocks:
        values[n_cells : n_cells + rows.nnz] = rows.data
        columns[n_cells : n_cells + rows.nnz] = rows.indices
        begins[n_read + 1 : n_read + 1 + rows.shape[0]] = n_cells + rows.indptr[1:]
        n_read, n_cells = n_read + rows.shape[0], n_cells + rows.nnz
    return n_read


def _in_store_order(X: Matrix) -> Matrix:
    """Rows in the order of the store: little-endian, C order."""
    dtype = X.dtype.newbyteorder("<")
    if not is_sparse(X):
        return np.ascontiguousarray(X, dtype)
    rows = canonical(X)
    return csr_array((rows.data.astype(dtype, copy=False), rows.indices, rows.indptr), shape=rows.shape)


def _arrays_of(X: Matrix) -> list[AnyArray]:
    return [X.data, X.indices, X.indptr] if is_sparse(X) else [X]


def _damaged(record: DatasetRecord) -> Damaged:
    return Damaged(f"The stored values of dataset {record.id!r} are not those that were uploaded.")


def _rows_together(row_bytes: int) -> int:
    """The number of rows with about BLOCK_BYTES."""
    return max(BLOCK_BYTES // max(row_bytes, 1), 1)


def _blocks_of(X: Matrix, part: TablePart | None) -> list[slice]:
    """Ranges of rows that are stored together."""
    if is_sparse(X):
        return _sparse_blocks(X)
    return list(_row_blocks(len(X), X.itemsize * X.shape[1] + (0 if part is None else 4 * len(part.text_names))))


def _constant_columns(X: Matrix, slices: Sequence[slice]) -> npt.NDArray[np.intp]:
    if is_sparse(X):
        return np.flatnonzero(X.min(axis=0).toarray().ravel() == X.max(axis=0).toarray().ravel())
    return np.flatnonzero(np.all([(X[0] == X[rows]).all(axis=0) for rows in slices], axis=0))


def _sparse_blocks(X: Matrix) -> list[slice]:
    """Ranges of rows of a sparse matrix, each with about BLOCK_BYTES: at most that and one row."""
    ends = X.indptr[1:].astype(np.int64) * (X.dtype.itemsize + 4) + 8 * np.arange(1, X.shape[0] + 1)
    begins = np.unique(ends // BLOCK_BYTES, return_index=True)[1].tolist()
    return [slice(begin, end) for begin, end in zip(begins, [*begins[1:], X.shape[0]], strict=True)]


def _row_blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Ranges of rows, each with about BLOCK_BYTES."""
    n_together = _rows_together(row_bytes)
    for first in range(0, n_rows, n_together):
        yield slice(first, first + n_together)


def _labels_to_bytes(y: AnyArray, part: TablePart | None) -> bytes:
    """The labels; for a table also its categories, ids, groups and weights."""
    if part is None:
        return _to_npy(y)
    arrays = (part.ids, part.groups, part.weights)
    told: dict[str, Any] = {"categories": part.categories, "id_name": part.id_name}
    told |= {"times": part.time_names, "day_first": part.day_first}
    text = json.dumps({**told, "has": [array is not None for array in arrays]})
    others = [array for array in arrays if array is not None]
    return b"".join(map(_to_npy, [y, np.frombuffer(text.encode(), np.uint8), *others]))


def _read_part(file: io.BytesIO, record: DatasetRecord, codes: Codes) -> TablePart:
    text = json.loads(_read(file).tobytes())
    has = [*text["has"], False]  # version 0.1 had no weights and no times
    ids, groups, weights = (_read(file) if is_there else None for is_there in has[:3])
    categories = tuple(map(tuple, text["categories"]))
    times, day_first = tuple(text.get("times", ())), tuple(text.get("day_first", ()))
    names = tuple(record.text_names)
    return TablePart(names, codes, categories, ids, text["id_name"], groups, weights, times, day_first)


def hash_of_info(info: Table) -> str:
    """The hash of columns that are only shown."""
    part = TablePart(info.text_names, info.codes, info.categories, time_names=info.time_names)
    return content_hash(info.numbers, np.empty(0), info.names, part)


def _info_to_bytes(info: Table) -> bytes:
    told = {name: getattr(info, name) for name in ("names", "number_names", "text_names", "categories", "time_names")}
    text = np.frombuffer(json.dumps(told).encode(), np.uint8)
    return _to_npy(text) + _to_npy(info.numbers) + _to_npy(info.codes)


def _read_info(file: io.BytesIO) -> Table:
    told = json.loads(_read(file).tobytes())
    numbers, codes = _read(file), _read(file)
    names, number_names, text_names, times = (
        tuple(told[name]) for name in ("names", "number_names", "text_names", "time_names")
    )
    return Table(names, number_names, numbers, text_names, codes, tuple(map(tuple, told["categories"])), times)


def _to_bytes(X: Matrix, codes: AnyArray | None) -> bytes:
    """The bytes of a block of rows: numbers, and for a table the codes of its text."""
    if is_sparse(X):
        return b"".join(map(_to_npy, (X.data, X.indices.astype("<i4", copy=False), X.indptr.astype("<i8", copy=False))))
    return _to_npy(X) if codes is None else _to_npy(X) + _to_npy(codes)


def _to_npy(array: AnyArray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _present(data: bytes | None) -> bytes:
    if data is None:
        raise ValueError("missing")
    return data


def _read(file: io.BytesIO) -> AnyArray:
    array: AnyArray = np.load(file, allow_pickle=False)
    return array
