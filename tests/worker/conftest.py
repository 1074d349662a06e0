"""A server for all tests of this folder, empty at the beginning of each, and a tenant of its own."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator

import pytest

from tests.servers import RedisServer, redis_server
from worker.engine import Engine, open_engine
from worker.store.settings import Settings


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def settings(server: RedisServer) -> Settings:
    # Runners work inside the process of the tests, which may have grown.
    return Settings(redis_url=server.url, window=2, process_memory_bytes=sys.maxsize)


@pytest.fixture
def store(settings: Settings) -> Iterator[Engine]:
    store = open_engine(settings)
    yield store
    store.close()


@pytest.fixture
def tenant(server: RedisServer) -> str:
    server.client.flushdb()
    return f"tenant-{uuid.uuid4().hex}"
