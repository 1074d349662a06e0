"""Datasets in a worker's memory: read from the store once per process, the least recently used given up first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy.typing as npt

from worker.contract.store import Store

Array = npt.NDArray[Any]


class DatasetCache:
    """Bounded by bytes. Keyed by content, so that a deleted and stored again dataset is the same one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._datasets: OrderedDict[str, tuple[Array, Array]] = OrderedDict()

    def load(self, tenant: str, dataset_id: str, content_hash: str) -> tuple[Array, Array]:
        """The values of a dataset, which nobody may change."""
        if content_hash not in self._datasets:
            X, y = self._store.datasets.load(tenant, dataset_id)
            X.flags.writeable = y.flags.writeable = False
            self._datasets[content_hash] = (X, y)
            self._shrink()
        self._datasets.move_to_end(content_hash)
        return self._datasets[content_hash]

    def _shrink(self) -> None:
        limit = self._store.settings.dataset_cache_bytes
        while len(self._datasets) > 1 and sum(X.nbytes + y.nbytes for X, y in self._datasets.values()) > limit:
            self._datasets.popitem(last=False)
