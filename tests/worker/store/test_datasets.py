from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from melm.typing import AnyArray
from tests.servers import RedisServer
from tests.worker.samples import stored_dataset, submission, two_blobs
from worker.engine import Engine
from worker.store import datasets
from worker.store.errors import Conflict, Damaged, Gone, IdempotencyMismatch, NotFound
from worker.store.records import ColumnRecord, Idempotency
from worker.store.table_part import TablePart


def keys(server: RedisServer, tenant: str) -> set[str]:
    return {key.decode() for key in server.client.scan_iter(f"melm:{{{tenant}}}*")}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("y", [["a", "b", "b"], [1, 2, 2], [0.5, 1.5, 1.5], [True, False, False]])
def test_values_come_back_as_they_were(store: Engine, tenant: str, dtype: type, y: list[object]) -> None:
    X: AnyArray = np.asfortranarray(np.random.default_rng(0).standard_normal((3, 2)).astype(dtype))
    record, created = store.datasets.create(
        tenant, X, np.array(y), feature_names=["u", "v"], name="n", metadata={"k": "v"}
    )
    values = store.datasets.load(tenant, record.id)
    loaded, labels = values.X, values.y
    assert values.part is None
    assert created
    assert loaded.dtype == dtype
    assert loaded.flags.c_contiguous
    assert loaded.tobytes() == np.ascontiguousarray(X).tobytes()
    assert labels.tolist() == y
    assert [type(label) for label in record.classes] == [type(y[0])] * 2
    assert store.datasets.get(tenant, record.id) == record
    assert (record.n_rows, record.n_features, record.dtype) == (3, 2, np.dtype(dtype).name)
    assert (record.feature_names, record.name, record.metadata) == (["u", "v"], "n", {"k": "v"})


def test_many_blocks(store: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "BLOCK_BYTES", 100)
    X, y = two_blobs()
    record, _ = store.datasets.create(tenant, X, y)
    assert record.n_blocks == 10  # 4 rows of 24 bytes each
    assert np.array_equal(store.datasets.load(tenant, record.id).X, X)


def test_some_rows_are_read_from_their_blocks_only(
    store: Engine, tenant: str, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "BLOCK_BYTES", 100)
    X, y = two_blobs()
    record, _ = store.datasets.create(tenant, X, y)
    server.client.hdel(f"melm:{{{tenant}}}:dataset:{record.id}:blocks", "4")  # rows 16 to 19
    found, codes = store.datasets.take(tenant, record, np.array([39, 0, 21, 0]))
    assert np.array_equal(found, X[[39, 0, 21, 0]])
    assert codes.shape == (4, 0)
    with pytest.raises(Damaged):
        store.datasets.take(tenant, record, np.array([17]))


def test_a_table_comes_back_as_it_was(store: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "BLOCK_BYTES", 100)
    X, y = two_blobs()
    X[3, 0] = np.nan
    X[:, 2] = 7
    codes = (np.arange(2 * len(X), dtype=np.int32) % 3 - 1).reshape(-1, 2)
    part = TablePart(
        ("color", "shape"),
        codes,
        (("blau", "größer"), ("round", "square")),
        ids=np.arange(len(X)),
        id_name="row",
        groups=y.copy(),
    )
    column = ColumnRecord(name="color", role="categorical", reason="", n_missing=9, n_categories=2, categories=["blau"])
    names = ["color", "u", "v", "shape", "w"]
    record, _ = store.datasets.create(tenant, X, y, feature_names=names, part=part, columns=[column])
    values = store.datasets.load(tenant, record.id)
    again = values.part
    assert np.array_equal(values.X, X, equal_nan=True)
    assert values.y.tolist() == y.tolist()
    assert again is not None
    assert (again.text_names, again.categories) == (part.text_names, part.categories)
    for name in ("codes", "ids", "groups"):
        assert np.array_equal(getattr(again, name), getattr(part, name))
    assert (record.n_features, record.text_names, record.columns) == (5, ["color", "shape"], [column])
    assert record.constant_columns == [4]
    assert again.id_name == "row"
    for change in ({"ids": None}, {"id_name": "key"}, {"groups": None}):
        other = store.datasets.create(tenant, X, y, feature_names=names, part=replace(part, **change))[0]
        assert other.content_hash != record.content_hash


def test_constant_columns_are_told(store: Engine, tenant: str) -> None:
    X, y = two_blobs()
    X[:, 1] = 7
    assert store.datasets.create(tenant, X, y)[0].constant_columns == [1]


def test_the_same_content_is_stored_once(store: Engine, tenant: str, server: RedisServer) -> None:
    record, _ = store.datasets.create(tenant, *two_blobs())
    before = keys(server, tenant)
    again, created = store.datasets.create(tenant, *two_blobs(), name="another name")
    assert (again, created) == (record, False)
    assert store.datasets.find(tenant, record.content_hash) == record
    assert keys(server, tenant) == before


def test_two_that_create_the_same_content_at_once_get_one(
    store: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.datasets, "find", lambda tenant, content_hash: None)  # neither sees the other
    first, _ = store.datasets.create(tenant, *two_blobs())
    second, created = store.datasets.create(tenant, *two_blobs())
    assert (second.id, created) == (first.id, False)
    assert len(store.datasets.page(tenant).data) == 1


def test_a_create_that_breaks_off_leaves_nothing_that_stays(
    store: Engine, tenant: str, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store.connection, "run", break_off)
    with pytest.raises(KeyboardInterrupt):
        store.datasets.create(tenant, *two_blobs())
    assert keys(server, tenant)
    assert all(server.client.pttl(key) > 0 for key in keys(server, tenant))
    assert store.datasets.page(tenant).data == []


def test_deleted_is_gone_and_never_there_is_not_found(store: Engine, tenant: str) -> None:
    record = stored_dataset(store, tenant)
    store.datasets.delete(tenant, record.id)
    for call in (store.datasets.get, store.datasets.load, store.datasets.delete):
        with pytest.raises(Gone, match="was deleted"):
            call(tenant, record.id)
        with pytest.raises(NotFound):
            call(tenant, "ds_none")
    assert store.datasets.find(tenant, record.content_hash) is None
    assert stored_dataset(store, tenant).id != record.id


def test_a_dataset_in_use_stays(store: Engine, tenant: str) -> None:
    record = stored_dataset(store, tenant)
    fit, _ = store.fits.submit(tenant, submission(record))
    with pytest.raises(Conflict):
        store.datasets.delete(tenant, record.id)
    store.fits.cancel(tenant, fit.id)
    store.datasets.delete(tenant, record.id)


def test_another_tenant_sees_nothing(store: Engine, tenant: str) -> None:
    record = stored_dataset(store, tenant)
    with pytest.raises(NotFound):
        store.datasets.get(tenant + "x", record.id)
    assert store.datasets.find(tenant + "x", record.content_hash) is None


def test_pages_are_newest_first(store: Engine, tenant: str) -> None:
    def blobs(seed: int) -> tuple[AnyArray, AnyArray]:
        return two_blobs(seed=seed)

    ids = [store.datasets.create(tenant, *blobs(seed))[0].id for seed in range(5)]
    newest_first = sorted(ids, reverse=True)
    first = store.datasets.page(tenant, limit=2)
    second = store.datasets.page(tenant, limit=2, cursor=first.next_cursor)
    third = store.datasets.page(tenant, limit=2, cursor=second.next_cursor)
    assert [record.id for page in (first, second, third) for record in page.data] == newest_first
    assert third.next_cursor is None
    assert store.datasets.page(tenant, limit=5).next_cursor is None


@pytest.mark.parametrize("field", [b"0", b"labels"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped"])
def test_damage_is_told(store: Engine, tenant: str, server: RedisServer, field: bytes, damage: str) -> None:
    record = stored_dataset(store, tenant)
    place = f"melm:{{{tenant}}}:dataset:{record.id}:blocks"
    value = server.client.hget(place, field)
    assert isinstance(value, bytes)
    if damage == "missing":
        server.client.hdel(place, field)
    elif damage == "truncated":
        server.client.hset(place, field, value[:-3])
    else:
        server.client.hset(place, field, value[:-1] + bytes([value[-1] ^ 1]))
    with pytest.raises(Damaged):
        store.datasets.load(tenant, record.id)


def test_an_idempotency_key_finds_what_it_made(store: Engine, tenant: str) -> None:
    key = Idempotency(key="k", body_hash="h")
    record, _ = store.datasets.create(tenant, *two_blobs(), idempotency=key)
    again, created = store.datasets.create(tenant, *two_blobs(), idempotency=key)
    assert (again.id, created) == (record.id, False)
    with pytest.raises(IdempotencyMismatch):
        store.datasets.create(tenant, *two_blobs(seed=1), idempotency=Idempotency(key="k", body_hash="other"))
    assert len(store.datasets.page(tenant).data) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sparse_matrix_comes_back_as_it_was(
    store: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch, dtype: type
) -> None:
    monkeypatch.setattr(datasets, "BLOCK_BYTES", 100)
    dense: AnyArray = np.random.default_rng(0).poisson(0.2, (40, 30)).astype(dtype)
    dense[3] = 1  # a row that is more than a block
    dense[:, 5] = 0
    record, _ = store.datasets.create(tenant, csc_array(dense), np.arange(40) % 2)
    assert record.n_blocks == len(record.first_rows) > 5
    assert record.n_nonzero == np.count_nonzero(dense)
    assert record.constant_columns == [5]
    values = store.datasets.load(tenant, record.id)
    assert values.X.dtype == dtype
    assert np.array_equal(values.X.toarray(), dense)
    found, codes = store.datasets.take(tenant, record, np.array([39, 3, 0, 3]))
    assert np.array_equal(found, dense[[39, 3, 0, 3]])
    assert codes.shape == (4, 0)
    blocks = [rows for rows, _ in store.datasets.blocks(tenant, record)]
    assert np.array_equal(np.concatenate(blocks), dense)
    assert max(map(len, blocks)) == 1
    assert store.datasets.create(tenant, csr_array(dense), np.arange(40) % 2) == (record, False)


def test_a_sparse_matrix_that_lost_a_cell_is_damaged(store: Engine, tenant: str, server: RedisServer) -> None:
    X = csr_array(np.eye(6))
    record, _ = store.datasets.create(tenant, X, np.arange(6) % 2)
    place = f"melm:{{{tenant}}}:dataset:{record.id}:blocks"
    block = server.client.hget(place, "0")
    assert isinstance(block, bytes)
    server.client.hset(place, "0", block.replace(np.float64(1).tobytes(), bytes(8), 1))
    with pytest.raises(Damaged):
        store.datasets.load(tenant, record.id)
