"""The store: datasets, models, requests and their connection."""

from __future__ import annotations

from worker.store.connection import StoreConnection
from worker.store.datasets import Datasets
from worker.store.models import Models
from worker.store.requests import Requests
from worker.store.settings import Settings

__all__ = ["Store"]


class Store:
    """The store. Thread-safe, but not to be shared between processes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.connection = StoreConnection(settings)
        self.datasets = Datasets(self.connection)
        self.models = Models(self.connection)
        self.requests = Requests(self.connection)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the server answers."""
        self.connection.ping()

    def is_full(self) -> bool:
        """Whether the memory or disk of the server is almost full."""
        return self.connection.is_full()

    def close(self) -> None:
        """Close all connections."""
        self.connection.client.close()
