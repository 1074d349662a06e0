"""Large datasets in files that the processes of a machine share: one reads the store, all memory-map the file."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from worker.store import Store
from worker.store.datasets import Bytes, Values, n_value_bytes, view
from worker.store.errors import Damaged
from worker.store.records import DatasetRecord

logger = logging.getLogger(__name__)

SHARED_FROM_BYTES = 1 << 20  # reading smaller ones is faster than sharing them
KEPT_SECONDS = 3600.0  # files that were not used for so long are deleted


class DatasetFiles:
    """An LRU cache of files, named by content hash and limited by bytes. A worker deletes all of them when it ends.

    A process that dies leaves at most an incomplete file under a temporary name; its lock is released at once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        given = store.settings.dataset_cache_folder
        self._folder = Path(given or Path(tempfile.gettempdir()) / f"melm-datasets-{os.getuid()}")

    def load(self, tenant: str, record: DatasetRecord) -> Values:
        """The values of a dataset; in memory, if no file can be created."""
        if n_value_bytes(record) < SHARED_FROM_BYTES:
            return self._store.datasets.load(tenant, record.id)
        path = self._folder / record.content_hash.removeprefix("sha256:")
        try:
            self._make_folder()
            with locked(path.with_suffix(".lock")):
                return self._mapped(path, record) or self._copied(path, tenant, record)
        except OSError as error:
            logger.warning("dataset not shared", extra={"folder": str(self._folder), "reason": str(error)})
            return self._store.datasets.load(tenant, record.id)

    def clear(self) -> None:
        """Delete all files. Processes that have mapped them can still use them."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _make_folder(self) -> None:
        """Create the folder, and check that no other user can write to it: they could change mapped files."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._folder.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(f"{self._folder} is not a folder of this user alone")

    def _mapped(self, path: Path, record: DatasetRecord) -> Values | None:
        """The values in the file; None if it does not exist or is damaged."""
        try:
            values = view(record, np.memmap(path, np.uint8, "r").view(np.ndarray))
        except (FileNotFoundError, ValueError):  # an empty file cannot be mapped
            return None
        except Damaged:
            logger.warning("damaged file of a dataset", extra={"dataset_id": record.id, "path": str(path)})
            return None
        os.utime(path)  # marks the file as recently used
        return values

    def _copied(self, path: Path, tenant: str, record: DatasetRecord) -> Values:
        """Read the store into a temporary file, which is renamed when it is complete and verified."""
        descriptor, unfinished = tempfile.mkstemp(dir=self._folder, suffix=".part")

        def make_room(n_bytes: int) -> Bytes:
            self._shrink(n_bytes)
            reserve(descriptor, n_bytes)
            return np.memmap(unfinished, np.uint8, "r+").view(np.ndarray)

        try:
            values = self._store.datasets.load(tenant, record.id, make_room)
            Path(unfinished).replace(path)
        finally:
            os.close(descriptor)
            Path(unfinished).unlink(missing_ok=True)
        values.protect()
        return values

    def _shrink(self, n_more: int) -> None:
        """Delete old files, and the least recently used ones, until `n_more` bytes fit."""
        limit = self._store.settings.dataset_cache_bytes
        found = []
        for path in self._files():
            with suppress(FileNotFoundError):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
        total = n_more
        for used_at, n_bytes, path in sorted(found, reverse=True):
            total += n_bytes
            if (total > limit and n_bytes) or time.time() - used_at > KEPT_SECONDS:
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return [path for path in self._folder.glob("*") if path.is_file()]


def reserve(descriptor: int, n_bytes: int) -> None:
    """Allocate space for a file. If the disk is full, this raises now, instead of SIGBUS at a later write."""
    if sys.platform == "darwin":  # macOS has no posix_fallocate
        os.ftruncate(descriptor, n_bytes)
    else:
        os.posix_fallocate(descriptor, 0, n_bytes)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file lock, which the kernel releases if the process dies."""
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
