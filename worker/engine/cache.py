"""An LRU cache of prepared datasets in a worker process."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from worker.engine.dataset_files import DatasetFiles
from worker.engine.library import Library
from worker.store import Store


class DatasetCache:
    """Limited by bytes. The key is the content hash, so it survives that a dataset is deleted and uploaded again."""

    def __init__(self, store: Store, library: Library) -> None:
        self._store = store
        self._library = library
        self._files = DatasetFiles(store)
        self._datasets: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def load(self, tenant: str, dataset_id: str, content_hash: str) -> Any:
        """A dataset, prepared by the library."""
        if content_hash not in self._datasets:
            record = self._store.datasets.get(tenant, dataset_id)
            values = self._files.load(tenant, record)
            prepared = self._library.prepare(record, values.X, values.y, values.part)
            self._datasets[content_hash] = (values.n_bytes, prepared)
            self._shrink()
        self._datasets.move_to_end(content_hash)
        return self._datasets[content_hash][1]

    def _shrink(self) -> None:
        limit = self._store.settings.dataset_cache_bytes
        while len(self._datasets) > 1 and sum(n_bytes for n_bytes, _ in self._datasets.values()) > limit:
            self._datasets.popitem(last=False)
