"""What the server answers when it takes no writes, in the store's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import RedisServer, redis_server
from worker.store import connection as module
from worker.store.connection import StoreConnection
from worker.store.errors import StoreFull, StoreUnavailable
from worker.store.settings import Settings

WRITES: list[Callable[[StoreConnection], Any]] = [
    lambda connection: connection.call("SET", "a", "b"),
    lambda connection: connection.call_many([("SET", "a", "b")]),
    lambda connection: connection.run("redis.call('SET', 'a', 'b') return { 'done' }", "tenant", {}),
]
STATES = {
    "follows another": (("REPLICAOF", "127.0.0.1", "1"), StoreUnavailable),
    "has lost its replicas": (("CONFIG", "SET", "min-replicas-to-write", "1"), StoreUnavailable),
    "is full": (("CONFIG", "SET", "maxmemory", "1"), StoreFull),
}


@pytest.fixture(params=[True, False], ids=["looked at now", "looked at before"])
def looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the commands come with a look at how full the server is."""
    monkeypatch.setattr(module, "LOOK_SECONDS", -1 if request.param else float("inf"))


@pytest.fixture(params=STATES)
def refusing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[RedisServer, type[Exception]]]:
    command, error = STATES[request.param]
    with redis_server(tmp_path) as server:
        server.client.execute_command(*command)  # type: ignore[no-untyped-call]
        yield server, error


@pytest.mark.usefixtures("looked_at")
def test_no_writes(refusing: tuple[RedisServer, type[Exception]]) -> None:
    server, error = refusing
    connection = StoreConnection(Settings(redis_url=server.url))
    for write in WRITES:
        with pytest.raises(StoreUnavailable) as raised:
            write(connection)
        assert raised.type is error
    connection.client.close()
