"""The store as a whole: everything that is kept, by noun."""

from __future__ import annotations

from worker.store.connection import StoreConnection
from worker.store.datasets import Datasets
from worker.store.models import Models
from worker.store.requests import Requests
from worker.store.settings import Settings

__all__ = ["Store"]


class Store:
    """Everything that is kept, by noun. Safe to share between threads, not between processes."""

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
        """Whether the server nears the end of its memory or its disk."""
        return self.connection.is_full()

    def close(self) -> None:
        """Give the connections back."""
        self.connection.client.close()
