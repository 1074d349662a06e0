"""Which workers are alive, whether fits move, and what workers have counted."""

from __future__ import annotations

from worker.store.connection import Connection, from_timestamp, timestamp
from worker.store.keys import HEARTBEATS, key
from worker.store.records import WorkerHealth


class Workers:
    """All workers, whatever tenant they work for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def beat(self, name: str) -> None:
        """Say that a worker is alive."""
        self._connection.call("ZADD", HEARTBEATS, timestamp(self._connection.now()), name)

    def leave(self, name: str) -> None:
        """Say that a worker has stopped."""
        self._connection.call("ZREM", HEARTBEATS, name)

    def health(self) -> WorkerHealth:
        """Whether fits are being worked on: workers alive, fits waiting, and when work was last begun."""
        settings = self._connection.settings
        now = self._connection.now()
        stale = timestamp(now) - round(settings.renew_seconds * 3 * 1000)
        self._connection.call("ZREMRANGEBYSCORE", HEARTBEATS, "-inf", stale - 86_400_000)
        workers = [name.decode() for name in self._connection.call("ZRANGEBYSCORE", HEARTBEATS, stale, "+inf")]
        queued = active = in_hand = unreadable = 0
        claimed: list[int] = []
        oldest_queued: list[int] = []
        for tenant in self._connection.tenants():
            commands = [
                ("ZCARD", key(tenant, "fits", "status", "queued")),
                ("ZCARD", key(tenant, "active")),
                ("HGET", key(tenant, "metrics"), "claimed_at"),
                ("ZRANGE", key(tenant, "active"), 0, 0),
                ("HLEN", key(tenant, "leases")),
                ("SCARD", key(tenant, "unreadable")),
            ]
            n_queued, n_active, claimed_at, oldest, n_leases, n_unreadable = self._connection.call_many(commands)
            queued += n_queued
            active += n_active
            in_hand += n_leases
            unreadable += n_unreadable
            if claimed_at is not None:
                claimed.append(int(float(claimed_at)))
            if oldest:
                created_at = self._connection.call("HGET", key(tenant, "fit", oldest[0].decode(), "meta"), "created_at")
                oldest_queued.append(int(float(created_at or timestamp(now))))
        # Fits wait, nobody has a unit in hand, and none was begun for long: alive but not consuming looks like this.
        waited_since = max(min(oldest_queued, default=timestamp(now)), max(claimed, default=0))
        moving = active == 0 or in_hand > 0 or timestamp(now) - waited_since < settings.stalled_seconds * 1000
        return WorkerHealth(
            workers=workers,
            queued_fits=queued,
            active_fits=active,
            unreadable_fits=unreadable,
            claimed_at=from_timestamp(max(claimed)) if claimed else None,
            moving=moving,
        )

    def metrics(self) -> dict[str, float]:
        """The workers' counters, added up over all tenants."""
        totals: dict[str, float] = {}
        for tenant in self._connection.tenants():
            for name, value in self._connection.call("HGETALL", key(tenant, "metrics")).items():
                if name != b"claimed_at":
                    totals[name.decode()] = totals.get(name.decode(), 0.0) + float(value)
        return totals
