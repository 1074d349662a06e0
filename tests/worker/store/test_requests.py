import pytest

from tests.worker.samples import two_blobs
from worker.store import Store
from worker.store.errors import IdempotencyInFlight, IdempotencyMismatch
from worker.store.records import Idempotency

KEY = Idempotency(key="k", body_hash="h")
OTHER_BODY = Idempotency(key="k", body_hash="other")


def test_a_request_is_answered_once(store: Store, tenant: str) -> None:
    assert store.requests.begin(tenant, KEY) is None
    with pytest.raises(IdempotencyInFlight):
        store.requests.begin(tenant, KEY)
    with pytest.raises(IdempotencyMismatch):
        store.requests.begin(tenant, OTHER_BODY)
    record, created = store.datasets.create(tenant, *two_blobs(), idempotency=KEY)
    assert created
    assert store.requests.begin(tenant, KEY) == record.id
    with pytest.raises(IdempotencyMismatch):
        store.requests.begin(tenant, OTHER_BODY)


def test_a_request_that_failed_can_be_sent_again(store: Store, tenant: str) -> None:
    store.requests.begin(tenant, KEY)
    store.requests.abandon(tenant, KEY)
    assert store.requests.begin(tenant, OTHER_BODY) is None


def test_what_was_made_stays_noted(store: Store, tenant: str) -> None:
    record, _ = store.datasets.create(tenant, *two_blobs(), idempotency=KEY)
    store.requests.abandon(tenant, KEY)
    assert store.requests.begin(tenant, KEY) == record.id


def test_keys_belong_to_a_tenant(store: Store, tenant: str) -> None:
    store.requests.begin(tenant, KEY)
    assert store.requests.begin(tenant + "x", KEY) is None
