"""A server for all tests of this folder, and a tenant of its own for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.servers import RedisServer, redis_server
from worker.contract.settings import Settings
from worker.contract.store import Store, open_store


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def settings(server: RedisServer) -> Settings:
    return Settings(redis_url=server.url, window=2)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    store = open_store(settings)
    yield store
    store.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant-{uuid.uuid4().hex}"
