from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.store.errors import QuotaExceeded
from worker.store.keys import HELD_BYTES, key
from worker.store.settings import Settings


def dataset(store: Engine, tenant: str, n_rows: int, seed: int = 0) -> str:
    X = np.random.default_rng(seed).normal(size=(n_rows, 10))
    return store.datasets.create(tenant, X, np.arange(n_rows) % 2)[0].id


def model(store: Engine, tenant: str, n_bytes: int = 10) -> str:
    return store.models.import_file(tenant, data=bytes(n_bytes), card={}, method="melm").id


def held(store: Engine, tenant: str) -> int:
    return int(store.connection.call("HGET", HELD_BYTES, tenant) or 0)


MAKERS: dict[str, Callable[[Engine, str, int], object]] = {
    "datasets": lambda store, tenant, seed: dataset(store, tenant, 4, seed),
    "models": lambda store, tenant, seed: model(store, tenant),
    "bytes": lambda store, tenant, seed: dataset(store, tenant, 500, seed),
    "aliases": lambda store, tenant, seed: store.models.put_alias(tenant, f"a{seed}", model(store, tenant)),
}


@pytest.mark.parametrize(
    ("quota", "setting", "limit"),
    [
        ("datasets", "max_datasets", 3),
        ("models", "max_models", 3),
        ("aliases", "max_aliases", 3),
        ("bytes", "max_tenant_bytes", 3 * 45_000),
    ],
)
def test_the_next_one_is_refused_and_other_tenants_are_not(
    tenant: str, settings: Settings, quota: str, setting: str, limit: int
) -> None:
    changed: dict[str, Any] = {setting: limit}
    store = open_engine(replace(settings, **changed))
    for seed in range(3):
        MAKERS[quota](store, tenant, seed)
    with pytest.raises(QuotaExceeded) as refused:
        MAKERS[quota](store, tenant, 3)
    members = refused.value.members
    assert members["quota"] == quota
    assert members["limit"] == limit
    used = members["used"]
    assert isinstance(used, int)
    assert 0 < used <= limit
    MAKERS[quota](store, f"{tenant}-other", 0)
    store.close()


def test_what_is_deleted_makes_room(store: Engine, tenant: str) -> None:
    ids = [dataset(store, tenant, 100), model(store, tenant, 1_000)]
    assert held(store, tenant) > 100 * 80 + 1_000
    store.datasets.delete(tenant, ids[0])
    store.models.delete(tenant, ids[1])
    assert held(store, tenant) == 0
    assert store.connection.call("HLEN", key(tenant, "sizes")) == 0


def test_a_tenant_of_several_has_half_of_the_store(store: Engine, tenant: str) -> None:
    client = store.connection.client
    used = client.info("memory")["used_memory"]
    client.config_set("maxmemory", used + (20 << 20))
    try:
        store.connection.has_many_tenants = lambda: True
        half = int((used + (20 << 20)) * 0.45)
        with pytest.raises(QuotaExceeded) as refused:
            store.datasets.create(tenant, np.zeros((half // 80 + 1, 10)), np.arange(half // 80 + 1) % 2)
        assert refused.value.members["limit"] == half
    finally:
        client.config_set("maxmemory", 0)


def test_who_has_all_bytes_begins_no_fit(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, max_tenant_bytes=45_000))
    dataset(store, tenant, 500)
    id = stored_dataset(open_engine(settings), tenant)
    with pytest.raises(QuotaExceeded):
        store.fits.submit(tenant, submission(id))
    store.close()
