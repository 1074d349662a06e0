"""The cache of decoded models: bounded, true to the store, and of use while the store is away."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from melm import MELM
from melm.model import file as model_file
from service.inference.model_cache import ModelCache
from worker.engine import Engine
from worker.store.errors import Gone, NotFound, StoreUnavailable
from worker.store.records import ModelRecord


class Models:
    """The part of a store that the cache asks."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 2))
        self.data = model_file.dump(MELM(regularization=None, n_components=1, n_starts=1).fit(X, X[:, 0] > 0).model_)
        self.files = {"mdl_1": self.data, "mdl_2": self.data, "mdl_3": self.data}
        self.aliases = {"champion": "mdl_1"}
        self.is_away = False
        self.calls: list[str] = []

    def resolve(self, tenant: str, name: str) -> str:
        if name.startswith("mdl_"):
            return name
        self.answer("resolve")
        if name not in self.aliases:
            raise NotFound("model", name)
        return self.aliases[name]

    def get(self, tenant: str, model_id: str) -> ModelRecord:
        self.answer("get")
        if model_id not in self.files:
            raise Gone("model", model_id, "deleted")
        return self.record(model_id)

    def read(self, tenant: str, model_id: str) -> tuple[ModelRecord, bytes]:
        self.answer("read")
        if tenant != "acme" or model_id not in self.files:
            raise NotFound("model", model_id)
        return self.record(model_id), self.files[model_id]

    def record(self, model_id: str) -> ModelRecord:
        data = self.files[model_id]
        return ModelRecord(
            id=model_id,
            created_at=datetime.now(UTC),
            method="melm",
            fit_id=None,
            dataset_id=None,
            n_bytes=len(data),
            digest=hashlib.sha256(data).hexdigest(),
        )

    def answer(self, call: str) -> None:
        if self.is_away:
            raise StoreUnavailable("away")
        self.calls.append(call)


class Clock:
    """A clock that stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(models: Models, clock: Clock) -> ModelCache:
    store = cast(Engine, SimpleNamespace(models=models))
    weight = len(models.data) + model_file.load(models.data).densities.n_bytes
    return ModelCache(store, max_bytes=2 * weight, check_seconds=1, clock=clock)


def test_a_model_is_read_once(cache: ModelCache, models: Models) -> None:
    assert cache.peek("acme", "mdl_1") is None
    first = cache.get("acme", "mdl_1")
    assert cache.get("acme", "mdl_1") is first
    assert cache.peek("acme", "mdl_1") is first
    assert models.calls == ["read"]


def test_tenants_do_not_share(cache: ModelCache) -> None:
    cache.get("acme", "mdl_1")
    assert cache.peek("rival", "mdl_1") is None
    with pytest.raises(NotFound):
        cache.get("rival", "mdl_1")


def test_the_least_recently_used_goes_first(cache: ModelCache) -> None:
    for model_id in ("mdl_1", "mdl_2", "mdl_1", "mdl_3"):
        cache.get("acme", model_id)
    assert len(cache) == 2
    assert cache.peek("acme", "mdl_1")
    assert cache.peek("acme", "mdl_2") is None


def test_a_deleted_model_is_noticed(cache: ModelCache, models: Models, clock: Clock) -> None:
    cache.get("acme", "mdl_1")
    del models.files["mdl_1"]
    assert cache.get("acme", "mdl_1").id == "mdl_1"  # within the second
    clock.now = 2
    assert cache.peek("acme", "mdl_1") is None
    with pytest.raises(Gone):
        cache.get("acme", "mdl_1")
    assert len(cache) == 0


def test_evidence_that_has_come_is_noticed(cache: ModelCache, models: Models, clock: Clock) -> None:
    before = cache.get("acme", "mdl_1")
    models.files["mdl_1"] = model_file.dump(replace(before.model, id_name="changed"))
    assert cache.get("acme", "mdl_1") is before  # predictions are the same, within the second
    after = cache.get("acme", "mdl_1", with_evidence=True)
    assert after.model.id_name == "changed"
    assert after.record != before.record
    assert cache.get("acme", "mdl_1") is after
    models.files["mdl_1"] = models.data
    clock.now = 2
    assert cache.get("acme", "mdl_1").model.id_name is None
    assert len(cache) == 1


def test_what_is_here_is_served_while_the_store_is_away(cache: ModelCache, models: Models, clock: Clock) -> None:
    first = cache.get("acme", "champion")
    models.is_away = True
    clock.now = 100
    assert cache.get("acme", "champion") is first
    assert cache.get("acme", "mdl_1") is first
    with pytest.raises(StoreUnavailable):
        cache.get("acme", "mdl_2")


def test_an_alias_that_moves_is_followed(cache: ModelCache, models: Models) -> None:
    assert cache.get("acme", "champion").id == "mdl_1"
    models.aliases["champion"] = "mdl_2"
    assert cache.get("acme", "champion").id == "mdl_2"


def test_dropping_frees_the_place(cache: ModelCache) -> None:
    cache.get("acme", "mdl_1")
    cache.drop("acme", "mdl_1")
    assert len(cache) == 0
    for model_id in ("mdl_2", "mdl_3"):
        cache.get("acme", model_id)
    assert len(cache) == 2
