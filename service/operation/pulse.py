"""The health of workers and store, queried at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from worker.engine import Engine
from worker.store.errors import StoreUnavailable
from worker.store.records import WorkerHealth

T = TypeVar("T")

FRESH_SECONDS = 1.0


class Pulse:
    """Cached values for health checks and metrics."""

    def __init__(self, store: Engine) -> None:
        self.health: Callable[[], WorkerHealth] = _Recent(store.workers.health)
        self.counters: Callable[[], dict[str, float]] = _Recent(store.workers.metrics)


class _Recent(Generic[T]):
    """A call whose result, or whose StoreUnavailable, is cached for a second."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._lock = Lock()
        self._looked_at = float("-inf")
        self._seen: T | StoreUnavailable | None = None

    def __call__(self) -> T:
        with self._lock:
            if time.monotonic() - self._looked_at > FRESH_SECONDS:
                try:
                    self._seen = self._look()
                except StoreUnavailable as error:
                    self._seen = error
                self._looked_at = time.monotonic()
            seen = self._seen
        if isinstance(seen, StoreUnavailable):
            raise seen
        return seen  # type: ignore[return-value]  # it was looked up
