"""Turns, deadlines and clients that go, with work that does nothing but wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from threading import Event
from typing import TypeVar

import pytest
from fastapi import Request
from starlette.types import Message

from melm.plan import Stopped
from melm.typing import ShouldStop
from service.errors import Malformed, TooManyRequests, TooMuchWork
from service.operation.heavy_work import WAITING_PER_TENANT, HeavyWork

T = TypeVar("T")
PATIENCE_SECONDS = 20


def request(*, gone: asyncio.Event | None = None) -> Request:
    async def receive() -> Message:
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http"}, receive)


def run(use: Callable[[], Awaitable[T]]) -> T:
    async def within() -> T:
        return await asyncio.wait_for(use(), PATIENCE_SECONDS)

    return asyncio.run(within())


def until_stopped(should_stop: ShouldStop) -> None:
    while not should_stop():
        time.sleep(0.001)
    raise Stopped


def test_another_tenant_does_not_wait_for_a_busy_one() -> None:
    async def use() -> list[str]:
        heavy, release = HeavyWork(3, PATIENCE_SECONDS), Event()
        busy = [asyncio.create_task(heavy.run(request(), "mallory", lambda _: release.wait())) for _ in range(5)]
        try:
            return [await heavy.run(request(), "ada", lambda _: "done") for _ in range(3)]
        finally:
            release.set()
            await asyncio.gather(*busy)

    assert run(use) == ["done"] * 3


def test_who_waits_with_too_much_is_refused() -> None:
    async def use() -> None:
        heavy, release = HeavyWork(2, PATIENCE_SECONDS), Event()
        tasks = [
            asyncio.create_task(heavy.run(request(), "mallory", lambda _: release.wait()))
            for _ in range(WAITING_PER_TENANT + 1)
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        try:
            with pytest.raises(TooManyRequests):
                await heavy.run(request(), "mallory", lambda _: None)
        finally:
            release.set()
            await asyncio.gather(*tasks)

    run(use)


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(TooMuchWork, match="takes more than"):
        run(lambda: HeavyWork(2, 0.05).run(request(), "ada", until_stopped))


def test_nobody_works_for_a_client_who_has_gone() -> None:
    async def use() -> None:
        heavy, gone, was_begun = HeavyWork(2, PATIENCE_SECONDS), asyncio.Event(), Event()
        first = asyncio.create_task(heavy.run(request(gone=gone), "ada", until_stopped))
        waiting = asyncio.create_task(heavy.run(request(gone=gone), "ada", lambda _: was_begun.set()))
        gone.set()
        for task in (first, waiting):
            with pytest.raises(Malformed, match="disconnected"):
                await task
        assert await heavy.run(request(), "ada", lambda _: "next") == "next"  # the thread is free
        assert not was_begun.is_set()

    run(use)
