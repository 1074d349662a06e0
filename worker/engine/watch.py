"""Waits for fits without a thread or a connection per waiter.

The scripts publish the id of each fit that changes. One subscriber per process receives all of them, and wakes the
waiters of that fit.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import redis
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from worker.engine.fits import fit_record, parse_events
from worker.store.connection import client_options, translated
from worker.store.errors import Gone, NotFound
from worker.store.keys import PREFIX, key
from worker.store.records import Event, FitRecord
from worker.store.settings import Settings

LOOK_SECONDS = 5.0  # a waiter polls this often even without a notification
LOOKS_PER_SECOND = 1000.0  # limit for all waiters of a process, if many watch a fit with many events
MAX_CONNECTIONS = 16


class Watch:
    """An asynchronous, read-only view of fits. A context manager, which owns the subscription of the process."""

    def __init__(self, settings: Settings) -> None:
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            settings.redis_url,
            max_connections=MAX_CONNECTIONS,
            timeout=settings.store_timeout_seconds,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,)),
            **client_options(settings),
        )
        self._client = redis.asyncio.Redis(connection_pool=pool)
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS - 2)  # the others are for the listener and for `ping`
        self._waiters: defaultdict[tuple[str, str], set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        await self._client.aclose()
        await self._client.connection_pool.disconnect()

    async def ping(self) -> None:
        """Raise StoreUnavailable unless the server answers."""
        with translated():
            await self._client.ping()

    async def fit(self, tenant: str, id: str) -> FitRecord:
        """A fit and its current state."""
        values = await self._call("HGETALL", key(tenant, "fit", id, "meta"))
        if not values:
            await self._raise_missing(tenant, id)
        return fit_record(id, values)

    async def ended(self, tenant: str, id: str, timeout_seconds: float, *, until_model: bool = False) -> FitRecord:
        """Wait until the fit has ended, or has its model, or the time is up; returns the fit."""
        deadline = time.monotonic() + timeout_seconds
        with _Waiter(self._waiters, tenant, id) as waiter:
            while True:
                fit = await self.fit(tenant, id)
                has_come = not fit.is_active or (until_model and fit.model_id is not None)
                if has_come or time.monotonic() >= deadline:
                    return fit
                await waiter.wait(deadline - time.monotonic())

    async def next_events(
        self, tenant: str, id: str, *, after: str = "0", timeout_seconds: float = 15.0, limit: int = 100
    ) -> list[Event]:
        """Wait for events after the given one; an empty list if the time is up."""
        deadline = time.monotonic() + timeout_seconds
        with _Waiter(self._waiters, tenant, id) as waiter:
            while not (events := await self._events(tenant, id, after, limit)) and time.monotonic() < deadline:
                await waiter.wait(deadline - time.monotonic())
        return events

    async def events(self, tenant: str, id: str, *, after: str = "0") -> AsyncIterator[Event]:
        """All events after the given one, until the fit has ended."""
        while True:
            events = await self.next_events(tenant, id, after=after)
            for event in events:
                yield event
                after = event.id
            if not (await self.fit(tenant, id)).is_active and not await self._events(tenant, id, after, 1):
                return

    async def _events(self, tenant: str, id: str, after: str, limit: int) -> list[Event]:
        entries = await self._call("XRANGE", key(tenant, "fit", id, "events"), f"({after}", "+", "COUNT", limit)
        if not entries and not await self._call("EXISTS", key(tenant, "fit", id, "meta")):
            await self._raise_missing(tenant, id)
        return parse_events(entries)

    async def _raise_missing(self, tenant: str, id: str) -> None:
        reason = await self._call("GET", key(tenant, "tombstone", id))
        raise NotFound("fit", id) if reason is None else Gone("fit", id, reason.decode())

    async def _call(self, *command: Any) -> Any:
        # Callers queue here for a connection, because the pool would raise an error for a long queue.
        async with self._slots:
            with translated():
                return await self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    async def _listen(self) -> None:
        """Receive notifications. After each new connection wake all waiters, because some may have been missed."""
        while True:
            try:
                async with self._client.pubsub(ignore_subscribe_messages=True) as pubsub:
                    await pubsub.psubscribe(f"{PREFIX}:{{*}}:events")
                    self._wake(*self._waiters)
                    while True:
                        message = await pubsub.get_message(timeout=LOOK_SECONDS)
                        if message is not None:
                            tenant = message["channel"].decode().split("{", 1)[1].rsplit("}", 1)[0]
                            self._wake((tenant, message["data"].decode()))
            except (redis.exceptions.RedisError, OSError):
                await asyncio.sleep(0.2)

    def _wake(self, *fits: tuple[str, str]) -> None:
        for fit in fits:
            for event in self._waiters.get(fit, ()):
                event.set()


class _Waiter:
    """A registered waiter for a fit. It is registered before the first look, so that no change is missed."""

    def __init__(self, waiters: defaultdict[tuple[str, str], set[asyncio.Event]], tenant: str, id: str) -> None:
        self._waiters = waiters
        self._fit = (tenant, id)
        self._event = asyncio.Event()

    def __enter__(self) -> Self:
        self._waiters[self._fit].add(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        self._waiters[self._fit].discard(self._event)
        if not self._waiters[self._fit]:
            del self._waiters[self._fit]

    async def wait(self, timeout_seconds: float) -> None:
        """Wait for a change of the fit, or some time. The more waiters there are, the less often each polls."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), max(min(timeout_seconds, LOOK_SECONDS), 0))
            await asyncio.sleep(sum(map(len, self._waiters.values())) / LOOKS_PER_SECOND)
        self._event.clear()
