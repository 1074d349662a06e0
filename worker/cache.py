"""Datasets in a worker's memory: read from the store once per process, the least recently used given up first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from worker.contract.store import Store
from worker.library import Library


class DatasetCache:
    """Bounded by bytes. Keyed by content, so that a dataset that was deleted and stored again is the same one."""

    def __init__(self, store: Store, library: Library) -> None:
        self._store = store
        self._library = library
        self._datasets: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def load(self, tenant: str, dataset_id: str, content_hash: str) -> Any:
        """A dataset as the library has prepared it."""
        if content_hash not in self._datasets:
            X, y, part = self._store.datasets.load(tenant, dataset_id)
            record = self._store.datasets.get(tenant, dataset_id)
            n_bytes = X.nbytes + y.nbytes + (0 if part is None else part.n_bytes)
            self._datasets[content_hash] = (n_bytes, self._library.prepare(record, X, y, part))
            self._shrink()
        self._datasets.move_to_end(content_hash)
        return self._datasets[content_hash][1]

    def _shrink(self) -> None:
        limit = self._store.settings.dataset_cache_bytes
        while len(self._datasets) > 1 and sum(n_bytes for n_bytes, _ in self._datasets.values()) > limit:
            self._datasets.popitem(last=False)
