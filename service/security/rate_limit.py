"""How often a key may ask."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BUCKET = struct.Struct("dd")  # how many were taken, and when that was counted
N_BUCKETS = 1 << 20  # so many that two keys hardly ever share one


class RateLimit:
    """A token bucket per key: one second's worth may come at once. Processes that share a file share the buckets."""

    def __init__(
        self, per_second: float, file: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._clock = clock
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.ftruncate(self._file, N_BUCKETS * BUCKET.size)
        self._buckets = mmap.mmap(self._file, N_BUCKETS * BUCKET.size)  # zeros are full buckets, and take no room

    def allows(self, key: bytes) -> bool:
        """Take one from the bucket, if there is one."""
        if not self._per_second:
            return True
        place = int.from_bytes(key[:8], "big") % N_BUCKETS * BUCKET.size
        with self._alone_with(place):
            now = self._clock()
            taken, at = BUCKET.unpack_from(self._buckets, place)
            taken = max(taken - (now - at) * self._per_second, 0.0)
            is_allowed: bool = taken + 1 <= self._per_second
            BUCKET.pack_into(self._buckets, place, taken + is_allowed, now)
        return is_allowed

    @contextmanager
    def _alone_with(self, place: int) -> Iterator[None]:
        """Keep other processes away from a bucket; the kernel lets them in again when this one dies."""
        if self._file == -1:
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX, BUCKET.size, place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, BUCKET.size, place)
