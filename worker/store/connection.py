"""The connection to the Redis server: commands, scripts, and the translation of errors."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.store.errors import Gone, NotFound, StoreFull, StoreUnavailable
from worker.store.keys import key
from worker.store.records import Idempotency
from worker.store.settings import Settings

FULL = 0.9  # of the server's memory limit: beyond it writes are refused, so that running fits can end
AWAY = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError)
READ_ONLY = (redis.exceptions.ReadOnlyError, redis.exceptions.MasterDownError)  # the server is a replica
TAKES_NO_WRITES = ("MISCONF", "NOREPLICAS", "BUSY")  # errors without a class in the client
LOOK_SECONDS = 1.0  # how long the answer is cached


@contextmanager
def translated() -> Iterator[None]:
    """Turn the client's errors into the store's."""
    try:
        yield
    except redis.exceptions.OutOfMemoryError as error:
        raise StoreFull("The store is full.") from error
    except AWAY as error:
        raise StoreUnavailable("The store does not answer.") from error
    except redis.exceptions.ResponseError as error:
        if isinstance(error, READ_ONLY) or str(error).startswith(TAKES_NO_WRITES):
            raise StoreUnavailable("The store does not accept writes at the moment.") from error
        raise


def client_options(settings: Settings) -> dict[str, Any]:
    """The connection options of all clients."""
    return {
        "socket_timeout": settings.store_timeout_seconds,
        "socket_connect_timeout": settings.store_timeout_seconds,
        "health_check_interval": 10,
    }


class StoreConnection:
    """A pooled, thread-safe client that runs commands and scripts."""

    def __init__(self, settings: Settings) -> None:
        # One retry, for a pooled connection that the server has closed. Sending a script twice does no harm.
        retry = Retry(NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,))
        self.settings = settings
        self.client = redis.Redis.from_url(settings.redis_url, retry=retry, **client_options(settings))
        self._scripts: dict[str, Any] = {}
        self._looked_at, self._is_full, self._max_memory = float("-inf"), False, 0
        self.has_many_tenants: Callable[[], bool] = lambda: False  # replaced by the service, which knows the tenants

    def call(self, *command: Any) -> Any:
        """Run a command. Once a second the same round trip also checks the memory of the server."""
        if self._is_look_due():
            answer, memory = self.call_many([command, ("INFO", "memory")])
            self._note(memory)
            return answer
        with translated():
            return self.client.execute_command(*command)  # type: ignore[no-untyped-call]

    def ping(self) -> None:
        """Raise StoreUnavailable unless the server answers."""
        self.call("PING")

    def call_many(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run several commands in one round trip, but not atomically."""
        with translated(), self.client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
            answers = pipeline.execute(raise_on_error=False)  # which would prepend the command to the error message
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return answers

    def run(self, script: str, tenant: str, arguments: dict[str, Any], *values: bytes) -> list[Any]:
        """Run a script with named arguments as JSON and binary values. The first item of the reply is the outcome."""
        if script not in self._scripts:
            self._scripts[script] = self.client.register_script(script)
        with translated():
            answer = self._scripts[script](args=[json.dumps({"tenant": tenant, **arguments}), *values])
        return [item.decode() if index == 0 and isinstance(item, bytes) else item for index, item in enumerate(answer)]

    def now(self) -> datetime:
        """The time of the server, in milliseconds. No other clock is used, so that clocks need not agree."""
        seconds, microseconds = self.call("TIME")
        return from_timestamp(int(seconds) * 1000 + int(microseconds) // 1000)

    def refuse_when_full(self) -> None:
        """Raise StoreFull if the memory or disk of the server is almost full."""
        if self.is_full():
            raise StoreFull("The store is nearly full and takes nothing new.")

    def is_full(self) -> bool:
        """Whether the memory or disk of the server is almost full."""
        self._look()
        return self._is_full

    def max_memory(self) -> int:
        """The memory limit of the server in bytes; zero means none."""
        self._look()
        return self._max_memory

    def _look(self) -> None:
        if self._is_look_due():
            self.ping()

    def _is_look_due(self) -> bool:
        return time.monotonic() - self._looked_at > LOOK_SECONDS

    def _note(self, memory: Any) -> None:
        used, self._max_memory = memory["used_memory"], memory["maxmemory"]
        self._is_full = 0 < self._max_memory * FULL < used or self._lacks_disk(used)
        self._looked_at = time.monotonic()

    def _lacks_disk(self, used_bytes: int) -> bool:
        """Whether the disk has too little space for running fits and for a copy of all data (AOF rewrite)."""
        folder = self.settings.store_folder
        if not folder:
            return False
        try:
            return shutil.disk_usage(folder).free < self.settings.store_reserve_bytes + used_bytes
        except FileNotFoundError:  # the server is on another machine
            return False

    def tombstone_arguments(self) -> dict[str, Any]:
        """The arguments of scripts that remove a resource."""
        return {"tombstone_ms": milliseconds(self.settings.tombstone_seconds)}

    def idempotency_arguments(self, idempotency: Idempotency | None) -> dict[str, Any]:
        """The arguments of scripts that create a resource, about the idempotency key."""
        return {
            "idempotency": None if idempotency is None else idempotency.model_dump(),
            "idempotency_ms": milliseconds(self.settings.idempotency_seconds),
        }

    def raise_missing(self, kind: str, tenant: str, id: str) -> NoReturn:
        """Raise Gone if there is a tombstone, else NotFound."""
        reason = self.call("GET", key(tenant, "tombstone", id))
        if reason is not None:
            raise Gone(kind, id, reason.decode())
        raise NotFound(kind, id)

    def page_ids(self, name: str, limit: int, cursor: str | None) -> list[str]:
        """Ids of an index after the cursor, newest first. One more than `limit`, if there are more."""
        below = b"+" if cursor is None else b"(" + cursor.encode()
        return [id.decode() for id in self.call("ZREVRANGEBYLEX", name, below, "-", "LIMIT", 0, limit + 1)]


def milliseconds(seconds: float) -> int:
    """A duration in the unit of the scripts, milliseconds."""
    return max(round(seconds * 1000), 1)


def timestamp(at: datetime) -> int:
    """A time in the unit of the scripts: milliseconds since 1970."""
    return round(at.timestamp() * 1000)


def from_timestamp(at: int) -> datetime:
    """A time from the unit of the scripts."""
    return datetime.fromtimestamp(at / 1000, UTC)


def expiry(now: datetime, lifetime_seconds: float) -> datetime | None:
    """When a resource that is created now expires; None (never) if the lifetime is zero."""
    return now + timedelta(seconds=lifetime_seconds) if lifetime_seconds else None
