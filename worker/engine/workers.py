"""Which workers are alive, whether fits move, and what workers have counted."""

from __future__ import annotations

from typing import Any

from worker.store.connection import StoreConnection, from_timestamp, timestamp
from worker.store.keys import ACTIVE, HEARTBEATS, LEASES, METRICS, PROCESSES, QUEUED, UNREADABLE
from worker.store.records import WorkerHealth


class Workers:
    """All workers, whatever tenant they work for."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def beat(self, name: str, n_processes: int) -> None:
        """Say that a worker is alive, and forget those that have said nothing for a day."""
        now = timestamp(self._connection.now())
        gone = self._connection.call("ZRANGEBYSCORE", HEARTBEATS, "-inf", now - 86_400_000)
        commands: list[tuple[Any, ...]] = [("HSET", PROCESSES, name, n_processes), ("ZADD", HEARTBEATS, now, name)]
        commands += [("HDEL", PROCESSES, *gone), ("ZREM", HEARTBEATS, *gone)] if gone else []
        self._connection.call_many(commands)

    def leave(self, name: str) -> None:
        """Say that a worker has stopped."""
        self._connection.call_many([("ZREM", HEARTBEATS, name), ("HDEL", PROCESSES, name)])

    def health(self) -> WorkerHealth:
        """Whether fits are being worked on: workers alive, fits waiting, and when work was last begun."""
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
        # Fits wait, nobody has a unit in hand, and none was begun for long: alive but not consuming looks like this.
        waited_since = claimed_at or 0
        if active <= queued:  # nobody has begun any of them: they wait since the first was queued
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
