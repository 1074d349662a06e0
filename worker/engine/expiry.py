"""Expiry: resources past their lifetime are removed, and answer 410 Gone."""

from __future__ import annotations

from worker.engine.scripts import script
from worker.store.connection import StoreConnection, timestamp
from worker.store.datasets import Datasets
from worker.store.errors import ContractError
from worker.store.keys import EXPIRIES, member
from worker.store.models import Models

BATCH = 100


class Expiry:
    """Removes expired resources. A dataset in use and a model with an alias are kept until that changes."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection
        self._datasets = Datasets(connection)
        self._models = Models(connection)

    def sweep(self) -> int:
        """Remove expired resources; returns their number."""
        now = timestamp(self._connection.now())
        members = self._connection.call("ZRANGEBYSCORE", EXPIRIES, "-inf", now, "LIMIT", 0, BATCH)
        return sum(self._remove(*each.decode().split("\n")) for each in members)

    def _remove(self, tenant: str, id: str) -> bool:
        try:
            if id.startswith("ds_"):
                self._datasets.delete(tenant, id, reason="expired")
            elif id.startswith("mdl_"):
                self._models.delete(tenant, id, reason="expired")
            else:
                self._connection.run(script("expire"), tenant, {"fit": id, **self._connection.tombstone_arguments()})
        except ContractError:
            # Still in use: try again a minute later, so that it does not block the others in the batch.
            later = timestamp(self._connection.now()) + 60_000
            self._connection.call("ZADD", EXPIRIES, "XX", later, member(tenant, id))
            return False
        return True
