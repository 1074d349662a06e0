"""Long computations: they run in a thread pool of their own, with a limit per tenant, while their client is connected.

All other requests, such as health checks and lists, use other threads and never wait for them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from fastapi import Request

from melm.plan import Stopped
from melm.typing import ShouldStop
from service.errors import Malformed, TooManyRequests, TooMuchWork

T = TypeVar("T")

GLANCE_SECONDS = 0.2  # until then the connection of the client is not checked
WAITING_PER_TENANT = 100


class HeavyWork:
    """The thread pool for long computations of one process."""

    def __init__(self, n_threads: int, deadline_seconds: float) -> None:
        self._threads = ThreadPoolExecutor(n_threads, "heavy")
        self._deadline_seconds = deadline_seconds
        # A tenant can use all threads but one, so that another tenant's work begins at once.
        self._turns: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(max(n_threads - 1, 1)))
        self._n_waiting: defaultdict[str, int] = defaultdict(int)

    async def run(self, request: Request, tenant: str, work: Callable[[ShouldStop], T]) -> T:
        """Run it in the tenant's turn. It is asked to stop if it takes too long or its client has disconnected."""
        if self._n_waiting[tenant] >= WAITING_PER_TENANT:
            raise TooManyRequests(retry_after_seconds=1)
        job = _Job()
        task = asyncio.create_task(self._in_turn(tenant, work, job))
        try:
            await asyncio.wait([task], timeout=GLANCE_SECONDS)
            if not task.done():
                gone = asyncio.create_task(disconnected(request))
                await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
                gone.cancel()
            if not task.done():
                await self._abandon(task, job)
                raise Malformed("the client has disconnected")
            return task.result()
        except Stopped:
            raise TooMuchWork(self._deadline_seconds) from None
        except asyncio.CancelledError:
            job.is_wanted = False
            task.cancel()
            raise

    async def _abandon(self, task: asyncio.Task[T], job: _Job) -> None:
        """Stop work whose client has disconnected. Wait for it to end, because it holds the memory of the request."""
        job.is_wanted = False
        if not job.has_begun:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieve the exception, so that asyncio does not log it

    async def _in_turn(self, tenant: str, work: Callable[[ShouldStop], T], job: _Job) -> T:
        self._n_waiting[tenant] += 1
        try:
            await self._turns[tenant].acquire()
        finally:
            self._n_waiting[tenant] -= 1
        try:
            job.begin(self._deadline_seconds)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, copy_context().run, work, job.should_stop)
        finally:
            self._turns[tenant].release()


class _Job:
    """Whether a computation has begun, and whether it is to stop."""

    def __init__(self) -> None:
        self.has_begun = False
        self.is_wanted = True
        self._ends_at = float("inf")

    def begin(self, seconds: float) -> None:
        self.has_begun = True
        self._ends_at = time.monotonic() + seconds

    def should_stop(self) -> bool:
        return not self.is_wanted or time.monotonic() > self._ends_at


async def disconnected(request: Request) -> None:
    """Wait until the client of a request, whose body has been read, is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
