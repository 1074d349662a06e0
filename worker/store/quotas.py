"""Quotas of tenants. The scripts that create resources check them atomically."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from worker.store.connection import FULL, StoreConnection
from worker.store.errors import QuotaExceeded
from worker.store.keys import HELD_BYTES

SHARE = 0.5  # the most of the store that one of several tenants can have


class Quotas:
    """The quotas of a tenant. Zero means no limit."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def arguments(self) -> dict[str, Any]:
        """The arguments of scripts that create a resource."""
        settings = self._connection.settings
        limits = {
            "bytes": self._max_bytes(),
            "datasets": settings.max_datasets,
            "models": settings.max_models,
            "aliases": settings.max_aliases,
            "active fits": settings.max_active_fits,
            "queued fits": settings.max_queued_fits,
        }
        return {"quotas": limits}

    def check_bytes(self, tenant: str, n_more: int) -> None:
        """Raise QuotaExceeded before anything is written, if `n_more` bytes exceed the quota."""
        limit = self._max_bytes()
        used = int(self._connection.call("HGET", HELD_BYTES, tenant) or 0)
        if limit and used + n_more > limit:
            raise QuotaExceeded("bytes", used, limit)

    def refuse(self, said: Sequence[bytes]) -> NoReturn:
        """Raise the QuotaExceeded that a script has replied: quota, used, limit."""
        quota, used, limit = (each.decode() for each in said)
        raise QuotaExceeded(quota, int(used), int(limit))

    def _max_bytes(self) -> int:
        if given := self._connection.settings.max_tenant_bytes:
            return given
        return int(self._connection.max_memory() * FULL * SHARE) if self._connection.has_many_tenants() else 0
