import hashlib

import pytest

from worker.store import Store
from worker.store.errors import Conflict, Gone, IdempotencyMismatch, NotFound, PreconditionFailed
from worker.store.records import Idempotency, ModelRecord


def imported(store: Store, tenant: str, data: bytes = b"file") -> ModelRecord:
    return store.models.import_file(tenant, data=data, card={"a": [1, "é"]}, method="melm", name="n")


def test_a_model_comes_back_as_it_was(store: Store, tenant: str) -> None:
    record = imported(store, tenant)
    assert store.models.get(tenant, record.id) == record
    assert store.models.file(tenant, record.id) == b"file"
    assert store.models.card(tenant, record.id) == {"a": [1, "é"]}
    assert (record.digest, record.n_bytes) == (hashlib.sha256(b"file").hexdigest(), 4)


def test_deleted_is_gone_and_never_there_is_not_found(store: Store, tenant: str) -> None:
    record = imported(store, tenant)
    store.models.delete(tenant, record.id)
    for call in (store.models.get, store.models.card, store.models.file, store.models.delete):
        with pytest.raises(Gone):
            call(tenant, record.id)
        with pytest.raises(NotFound):
            call(tenant, "mdl_none")


def test_pages_are_newest_first(store: Store, tenant: str) -> None:
    ids = [imported(store, tenant).id for _ in range(3)]
    first = store.models.page(tenant, limit=2)
    second = store.models.page(tenant, limit=2, cursor=first.next_cursor)
    assert [record.id for record in [*first.data, *second.data]] == sorted(ids, reverse=True)
    assert second.next_cursor is None


def test_an_idempotency_key_finds_what_it_made(store: Store, tenant: str) -> None:
    def send(body_hash: str) -> ModelRecord:
        key = Idempotency(key="k", body_hash=body_hash)
        return store.models.import_file(tenant, data=b"x", card={}, method="melm", idempotency=key)

    assert send("h") == send("h")
    with pytest.raises(IdempotencyMismatch):
        send("other")
    assert len(store.models.page(tenant).data) == 1


def test_an_alias_stands_for_a_model(store: Store, tenant: str) -> None:
    first, second = imported(store, tenant), imported(store, tenant)
    alias, created = store.models.put_alias(tenant, "champion", first.id)
    assert (alias.version, created) == (1, True)
    assert store.models.get(tenant, "champion") == first
    alias, created = store.models.put_alias(tenant, "champion", second.id)
    assert (alias.version, created) == (2, False)
    assert store.models.resolve(tenant, "champion") == second.id
    assert store.models.aliases(tenant) == [alias]
    assert store.models.get_alias(tenant, "champion") == alias


def test_an_alias_changes_only_from_the_expected_version(store: Store, tenant: str) -> None:
    model = imported(store, tenant)
    store.models.put_alias(tenant, "champion", model.id, expected_version=0)
    with pytest.raises(PreconditionFailed, match="version 1"):
        store.models.put_alias(tenant, "champion", model.id, expected_version=0)
    store.models.put_alias(tenant, "champion", model.id, expected_version=1)
    with pytest.raises(PreconditionFailed):
        store.models.delete_alias(tenant, "champion", expected_version=1)
    store.models.delete_alias(tenant, "champion", expected_version=2)
    with pytest.raises(NotFound):
        store.models.get(tenant, "champion")
    with pytest.raises(NotFound):
        store.models.delete_alias(tenant, "champion")


def test_a_model_with_a_name_stays(store: Store, tenant: str) -> None:
    model = imported(store, tenant)
    store.models.put_alias(tenant, "champion", model.id)
    with pytest.raises(Conflict, match="champion"):
        store.models.delete(tenant, model.id)
    store.models.delete_alias(tenant, "champion")
    store.models.delete(tenant, model.id)
    with pytest.raises(Gone):
        store.models.put_alias(tenant, "champion", model.id)


def test_an_alias_does_not_look_like_an_id(store: Store, tenant: str) -> None:
    with pytest.raises(ValueError, match="id"):
        store.models.put_alias(tenant, "mdl_x", imported(store, tenant).id)
