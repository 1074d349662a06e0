"""The engine: the store with its fits."""

from __future__ import annotations

from importlib.metadata import version

from worker.engine.expiry import Expiry
from worker.engine.fits import Fits
from worker.engine.units import Units
from worker.engine.workers import Workers
from worker.store import Store
from worker.store.settings import Settings


class Engine(Store):
    """A store with fits: the interface for their owners (`fits`), for workers (`units`, `workers`), and expiry."""

    def __init__(self, settings: Settings, library_version: str) -> None:
        super().__init__(settings)
        self.fits = Fits(self.connection, library_version)
        self.units = Units(self.connection, library_version)
        self.workers = Workers(self.connection)
        self.expiry = Expiry(self.connection)


def open_engine(settings: Settings) -> Engine:
    """An engine on the configured server. Nothing connects before the first call."""
    return Engine(settings, library_version=version("melm"))
