"""The store: the only package that speaks Redis. Keys, scripts, expiry and fencing are its business alone."""

from __future__ import annotations

from importlib.metadata import version

from worker.contract.settings import Settings
from worker.contract.store.connection import Connection
from worker.contract.store.datasets import Datasets
from worker.contract.store.expiry import Expiry
from worker.contract.store.fits import Fits
from worker.contract.store.models import Models
from worker.contract.store.requests import Requests
from worker.contract.store.units import Claim, LeaseLost, UnitReport, Units
from worker.contract.store.workers import Workers

__all__ = ["Claim", "LeaseLost", "Store", "UnitReport", "Units", "open_store"]


class Store:
    """Everything that is kept, by noun. Safe to share between threads, not between processes."""

    def __init__(self, settings: Settings, library_version: str) -> None:
        connection = Connection(settings)
        self.settings = settings
        self.connection = connection
        self.datasets = Datasets(connection)
        self.fits = Fits(connection, library_version)
        self.units = Units(connection)
        self.models = Models(connection)
        self.requests = Requests(connection)
        self.workers = Workers(connection)
        self.expiry = Expiry(connection)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the server answers."""
        self.connection.call("PING")

    def is_full(self) -> bool:
        """Whether the server nears its memory limit."""
        return self.connection.is_full()

    def tenants(self) -> list[str]:
        """All tenants that ever stored something."""
        return self.connection.tenants()

    def close(self) -> None:
        """Give the connections back."""
        self.connection.client.close()


def open_store(settings: Settings) -> Store:
    """A store on the configured server. Nothing connects before the first call."""
    return Store(settings, library_version=version("melm"))
