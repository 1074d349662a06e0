"""The heartbeats, health and metrics of workers."""

from __future__ import annotations

from typing import Any

from worker.store.connection import StoreConnection, from_timestamp, timestamp
from worker.store.keys import ACTIVE, HEARTBEATS, LEASES, METRICS, PROCESSES, QUEUED, UNREADABLE
from worker.store.records import WorkerHealth


class Workers:
    """All workers."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def beat(self, name: str, n_processes: int) -> None:
        """Store the heartbeat of a worker, and remove workers without one for a day."""
        now = timestamp(self._connection.now())
        gone = self._connection.call("ZRANGEBYSCORE", HEARTBEATS, "-inf", now - 86_400_000)
        commands: list[tuple[Any, ...]] = [("HSET", PROCESSES, name, n_processes), ("ZADD", HEARTBEATS, now, name)]
        commands += [("HDEL", PROCESSES, *gone), ("ZREM", HEARTBEATS, *gone)] if gone else []
        self._connection.call_many(commands)

    def leave(self, name: str) -> None:
        """Remove a worker that stops."""
        self._connection.call_many([("ZREM", HEARTBEATS, name), ("HDEL", PROCESSES, name)])

    def health(self) -> WorkerHealth:
        """The workers alive, the fits waiting, and whether workers take up units."""
        settings = self._connection.settings
        commands = [
            ("TIME",),
            ("ZRANGE", HEARTBEATS, 0, -1, "WITHSCORES"),
            ("ZCARD", QUEUED),
            ("ZRANGE", QUEUED, 0, 0, "WITHSCORES"),
            ("ZCARD", ACTIVE),
            ("HLEN", LEASES),
            ("SCARD", UNREADABLE),
            ("HGET", METRICS, "claimed_at"),
        ]
        (seconds, microseconds), beats, queued, oldest, active, in_hand, unreadable, claimed = (
            self._connection.call_many(commands)
        )
        now = int(seconds) * 1000 + int(microseconds) // 1000
        claimed_at = None if claimed is None else int(float(claimed))
        # Stalled: fits wait, but no unit is leased or was leased recently. The workers may be alive without messages.
        waited_since = claimed_at or 0
        if active <= queued:  # none of them has begun: they have waited since the first was queued
            waited_since = max(waited_since, int(oldest[0][1]) if oldest else now)
        return WorkerHealth(
            workers=[name.decode() for name, at in beats if at >= now - settings.alive_seconds * 1000],
            queued_fits=queued,
            active_fits=active,
            unreadable_fits=unreadable,
            claimed_at=None if claimed_at is None else from_timestamp(claimed_at),
            moving=active == 0 or in_hand > 0 or now - waited_since < settings.stalled_seconds * 1000,
        )

    def metrics(self) -> dict[str, float]:
        """The workers' counters."""
        counters = self._connection.call("HGETALL", METRICS).items()
        return {name.decode(): float(value) for name, value in counters if name != b"claimed_at"}
