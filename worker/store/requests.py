"""Idempotency keys: which request is being answered, and what an earlier one made."""

from __future__ import annotations

from worker.store.connection import StoreConnection, milliseconds
from worker.store.errors import IdempotencyInFlight, IdempotencyMismatch
from worker.store.keys import key
from worker.store.records import Idempotency
from worker.store.scripts import script

IN_FLIGHT_SECONDS = 60


class Requests:
    """The idempotency keys of all tenants.

    What a request makes is noted under its key by the very script that makes it; here a request is only announced.
    """

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def begin(self, tenant: str, idempotency: Idempotency) -> str | None:
        """Announce a request. Answers the id of what an earlier one with this key and body made, if there was one."""
        arguments = {
            "in_flight_ms": milliseconds(IN_FLIGHT_SECONDS),
            **self._connection.idempotency_arguments(idempotency),
        }
        answer, *rest = self._connection.run(script("request/begin"), tenant, arguments)
        if answer == "mismatch":
            raise IdempotencyMismatch("This idempotency key was used with another body.")
        if answer == "in flight":
            raise IdempotencyInFlight("A request with this idempotency key is still being answered.")
        return rest[0].decode() if answer == "replayed" else None

    def found(self, tenant: str, idempotency: Idempotency) -> bool:
        """Whether the request under this key made nothing, because the same was there already."""
        return bool(self._connection.call("HEXISTS", key(tenant, "idempotency", idempotency.key), "was_there"))

    def abandon(self, tenant: str, idempotency: Idempotency) -> None:
        """Forget a request that failed, so that it can be sent again. What it made, if anything, stays noted."""
        name = key(tenant, "idempotency", idempotency.key)
        if self._connection.call("HEXISTS", name, "id") == 0:
            self._connection.call("DEL", name)
