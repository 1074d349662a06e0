"""Idempotency keys: whether a request is in flight, and what an earlier one has created."""

from __future__ import annotations

from worker.store.connection import StoreConnection, milliseconds
from worker.store.errors import IdempotencyInFlight, IdempotencyMismatch
from worker.store.keys import key
from worker.store.records import Idempotency
from worker.store.scripts import script

IN_FLIGHT_SECONDS = 60


class Requests:
    """The idempotency keys of all tenants.

    The script that creates a resource also stores its id under the key, atomically. This class only marks the request
    as in flight.
    """

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def begin(self, tenant: str, idempotency: Idempotency) -> str | None:
        """Begin a request. Returns the id of what an earlier one with the same key and body has created, or None."""
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
        """Whether the request with this key has found an existing resource instead of creating one."""
        return bool(self._connection.call("HEXISTS", key(tenant, "idempotency", idempotency.key), "was_there"))

    def abandon(self, tenant: str, idempotency: Idempotency) -> None:
        """Release the key of a failed request, so that it can be retried, unless it has created a resource."""
        name = key(tenant, "idempotency", idempotency.key)
        if self._connection.call("HEXISTS", name, "id") == 0:
            self._connection.call("DEL", name)
