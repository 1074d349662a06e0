"""A cache of decoded models. The predictions of a model never change; its evidence may be added once."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from melm.model import Model
from melm.model import file as model_file
from worker.store import Store
from worker.store.errors import Gone, NotFound, StoreUnavailable
from worker.store.records import ModelRecord

logger = logging.getLogger(__name__)


@dataclass
class CachedModel:
    """A model, its record, and the time at which it was last compared with the store."""

    record: ModelRecord
    model: Model
    checked_at: float

    @property
    def id(self) -> str:
        """The model's id."""
        return self.record.id

    @property
    def n_bytes(self) -> int:
        """Its size in memory now; predictions add prepared data that is not in the file."""
        return self.record.n_bytes + self.model.densities.n_bytes

    @cached_property
    def n_kernels(self) -> int:
        """The number of kernels in its densities."""
        return sum(map(len, self.model.densities.rows))

    @cached_property
    def answer_bytes(self) -> int:
        """The size of the largest answer for one row: a label, and a probability for each class."""
        return int(self.model.classes.dtype.itemsize) + 8 * len(self.model.classes)


class ModelCache:
    """An LRU cache of models, limited by bytes. While the store is unavailable, cached models remain usable."""

    def __init__(
        self, store: Store, max_bytes: int, check_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._check_seconds = check_seconds
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], CachedModel] = OrderedDict()
        self._aliases: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def peek(self, tenant: str, model_id: str) -> CachedModel | None:
        """A model that is cached and was recently compared with the store, else None. Never waits."""
        entry = self._entries.get((tenant, model_id))
        return entry if entry and self._clock() - entry.checked_at < self._check_seconds else None

    def get(self, tenant: str, id_or_alias: str, *, with_evidence: bool = False) -> CachedModel:
        """A model by its id or alias, read from the store if it is not cached.

        With `with_evidence` the store is asked whether evidence has been added since.
        """
        model_id = self._resolve(tenant, id_or_alias)
        entry = self._entries.get((tenant, model_id))
        if entry is None:
            return self._load(tenant, model_id)
        if with_evidence or self._clock() - entry.checked_at >= self._check_seconds:
            entry = self._check(tenant, entry)
        with self._lock:
            if (tenant, model_id) in self._entries:
                self._entries.move_to_end((tenant, model_id))
        return entry

    def drop(self, tenant: str, model_id: str) -> None:
        """Forget a model."""
        with self._lock:
            self._entries.pop((tenant, model_id), None)

    def trim(self) -> None:
        """Evict the least recently used models while all together take too much memory."""
        with self._lock:
            n_bytes = sum(entry.n_bytes for entry in self._entries.values())
            while n_bytes > self._max_bytes and len(self._entries) > 1:
                _, oldest = self._entries.popitem(last=False)
                n_bytes -= oldest.n_bytes

    def _resolve(self, tenant: str, id_or_alias: str) -> str:
        try:
            model_id = self._store.models.resolve(tenant, id_or_alias)
        except StoreUnavailable:
            if (tenant, id_or_alias) not in self._aliases:
                raise
            return self._aliases[tenant, id_or_alias]
        if model_id != id_or_alias:
            self._aliases[tenant, id_or_alias] = model_id
        return model_id

    def _check(self, tenant: str, entry: CachedModel) -> CachedModel:
        try:
            if self._store.models.get(tenant, entry.id).digest != entry.record.digest:
                return self._load(tenant, entry.id)
        except StoreUnavailable:
            logger.warning("the store is unavailable; serving %s from the cache", entry.id)
        except (NotFound, Gone):
            self.drop(tenant, entry.id)
            raise
        entry.checked_at = self._clock()  # also if the store is unavailable: otherwise each request would wait for it
        return entry

    def _load(self, tenant: str, model_id: str) -> CachedModel:
        record, data = self._store.models.read(tenant, model_id)
        entry = CachedModel(record, model_file.load(data), self._clock())
        self.drop(tenant, model_id)
        with self._lock:
            self._entries[tenant, model_id] = entry
        self.trim()
        return entry
