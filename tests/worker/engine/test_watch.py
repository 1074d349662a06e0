import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from tests.servers import RedisServer, redis_server
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine
from worker.engine.watch import MAX_CONNECTIONS, Watch
from worker.store.errors import NotFound, StoreUnavailable
from worker.store.records import Event, FitRecord, Status
from worker.store.settings import Settings

T = TypeVar("T")


def watching(settings: Settings, use: Callable[[Watch], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Watch(settings) as watch:
            return await asyncio.wait_for(use(watch), 20)

    return asyncio.run(run())


def submitted(store: Engine, tenant: str) -> str:
    return store.fits.submit(tenant, submission(stored_dataset(store, tenant), force=True))[0].id


def test_a_waiter_is_woken_when_the_fit_ends(store: Engine, tenant: str, settings: Settings) -> None:
    fit_id = submitted(store, tenant)

    async def use(watch: Watch) -> FitRecord:
        waiting = asyncio.create_task(watch.ended(tenant, fit_id, 15))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await asyncio.to_thread(store.fits.cancel, tenant, fit_id)
        return await asyncio.wait_for(waiting, 1)  # sooner than any look without being woken

    assert watching(settings, use).status is Status.CANCELED


def test_a_waiter_goes_when_its_time_is_up(store: Engine, tenant: str, settings: Settings) -> None:
    fit_id = submitted(store, tenant)
    assert watching(settings, lambda watch: watch.ended(tenant, fit_id, 0.05)).status is Status.QUEUED
    assert watching(settings, lambda watch: watch.ended(tenant, fit_id, 0)).status is Status.QUEUED


def test_events_come_as_they_happen_until_the_end(store: Engine, tenant: str, settings: Settings) -> None:
    fit_id = submitted(store, tenant)

    async def use(watch: Watch) -> list[Event]:
        seen = []
        async for event in watch.events(tenant, fit_id):
            seen.append(event)
            if event.type == "queued":
                await asyncio.to_thread(store.units.next, "here/1/1")
            elif event.type == "started":
                await asyncio.to_thread(store.fits.cancel, tenant, fit_id)
        return seen

    seen = watching(settings, use)
    assert [event.type for event in seen] == ["queued", "started", "canceled"]
    assert seen == store.fits.events(tenant, fit_id)
    last = watching(settings, lambda watch: watch.next_events(tenant, fit_id, after=seen[1].id))
    assert last == seen[2:]
    assert (
        watching(settings, lambda watch: watch.next_events(tenant, fit_id, after=seen[2].id, timeout_seconds=0)) == []
    )


def test_many_waiters_share_few_connections(
    store: Engine, tenant: str, settings: Settings, server: RedisServer
) -> None:
    fit_id = submitted(store, tenant)

    async def use(watch: Watch) -> tuple[int, list[FitRecord]]:
        before = len(server.client.client_list())
        waiting = [asyncio.create_task(watch.ended(tenant, fit_id, 15)) for _ in range(200)]
        await asyncio.sleep(0.2)
        n_connections = len(server.client.client_list()) - before
        await asyncio.to_thread(store.fits.cancel, tenant, fit_id)
        return n_connections, await asyncio.wait_for(asyncio.gather(*waiting), 2)

    n_connections, fits = watching(settings, use)
    assert n_connections <= MAX_CONNECTIONS
    assert {fit.status for fit in fits} == {Status.CANCELED}
    assert len(fits) == 200


def test_waiting_survives_a_restart_of_the_server(tmp_path: Path, settings: Settings) -> None:
    with redis_server(tmp_path) as server:
        own = replace(settings, redis_url=server.url)
        store = Engine(own, "1")
        fit_id = submitted(store, "default")

        async def use(watch: Watch) -> FitRecord:
            first = asyncio.create_task(watch.next_events("default", fit_id, after="9999999999999-0"))
            await asyncio.sleep(0.05)
            await asyncio.to_thread(server.kill)
            with pytest.raises(StoreUnavailable):
                await watch.ping()
            await asyncio.to_thread(server.start)
            first.cancel()
            waiting = asyncio.create_task(watch.ended("default", fit_id, 15))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(store.fits.cancel, "default", fit_id)
            return await asyncio.wait_for(waiting, 2)

        assert watching(own, use).status is Status.CANCELED
        store.close()


def test_what_never_was_is_not_found(tenant: str, settings: Settings) -> None:
    for call in (Watch.fit, Watch.next_events):
        with pytest.raises(NotFound):
            watching(settings, lambda watch, call=call: call(watch, tenant, "fit_none"))  # type: ignore[misc]


def test_a_long_queue_for_connections_is_no_outage(
    store: Engine, tenant: str, settings: Settings, server: RedisServer
) -> None:
    """Each look takes a tenth of a second, as with a thousand streams: all together longer than one may."""
    fit_id = submitted(store, tenant)
    impatient = replace(settings, store_timeout_seconds=0.5)

    async def use(watch: Watch) -> list[FitRecord]:
        looks = [asyncio.create_task(watch.fit(tenant, fit_id)) for _ in range(MAX_CONNECTIONS * 40)]
        for _ in range(10):
            await asyncio.to_thread(server.client.client_pause, 100)
        return await asyncio.gather(*looks)

    assert len(watching(impatient, use)) == MAX_CONNECTIONS * 40
