from dataclasses import replace

import numpy as np
import pytest

from tests.worker.samples import two_blobs
from tests.worker.stand_in import StandIn
from worker.engine import Engine, open_engine
from worker.engine.cache import DatasetCache
from worker.store.datasets import Values
from worker.store.records import DatasetRecord
from worker.store.settings import Settings


def stored(store: Engine, tenant: str, n: int) -> list[DatasetRecord]:
    return [store.datasets.create(tenant, *two_blobs(seed=seed))[0] for seed in range(n)]


def count_loads(store: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    loads: list[str] = []
    load = store.datasets.load

    def counted(tenant: str, id: str) -> Values:
        loads.append(id)
        return load(tenant, id)

    monkeypatch.setattr(store.datasets, "load", counted)
    return loads


def test_a_dataset_is_read_once(store: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (record,) = stored(store, tenant, 1)
    loads = count_loads(store, monkeypatch)
    cache = DatasetCache(store, StandIn())
    for _ in range(3):
        assert np.array_equal(cache.load(tenant, record.id, record.content_hash), two_blobs()[0])
    assert loads == [record.id]


def test_the_least_recently_used_is_given_up_first(
    settings: Settings, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = two_blobs()
    store = open_engine(replace(settings, dataset_cache_bytes=2 * (X.nbytes + y.nbytes)))
    first, second, third = stored(store, tenant, 3)
    loads = count_loads(store, monkeypatch)
    cache = DatasetCache(store, StandIn())
    for record in (first, second, first, third, first, second):
        cache.load(tenant, record.id, record.content_hash)
    assert loads == [first.id, second.id, third.id, second.id]
    store.close()


def test_one_that_is_too_large_is_kept_while_it_is_used(
    settings: Settings, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_engine(replace(settings, dataset_cache_bytes=1))
    (record,) = stored(store, tenant, 1)
    loads = count_loads(store, monkeypatch)
    cache = DatasetCache(store, StandIn())
    for _ in range(2):
        cache.load(tenant, record.id, record.content_hash)
    assert loads == [record.id]
    store.close()
