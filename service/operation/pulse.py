"""How workers and store are doing, looked up at most once a second however often somebody asks."""

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
    """What health checks and scrapes read."""

    def __init__(self, store: Engine) -> None:
        self.health: Callable[[], WorkerHealth] = _Recent(store.workers.health)
        self.counters: Callable[[], dict[str, float]] = _Recent(store.workers.metrics)


class _Recent(Generic[T]):
    """A look that is shared by all who ask within a second, whether it succeeded or the store was away."""

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
