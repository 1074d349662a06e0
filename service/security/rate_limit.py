"""The rate limit of keys."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BUCKET = struct.Struct("dd")  # tokens taken, and the time of the last update
N_BUCKETS = 1 << 20  # so many that two keys rarely share one


class RateLimit:
    """A token bucket per key, with a burst of one second. Processes that share a file share the buckets."""

    def __init__(
        self, per_second: float, file: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._clock = clock
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.ftruncate(self._file, N_BUCKETS * BUCKET.size)
        self._buckets = mmap.mmap(self._file, N_BUCKETS * BUCKET.size)  # zeros are full buckets

    def allows(self, key: bytes) -> bool:
        """Take a token from the bucket of a key; False if it is empty."""
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
        """Lock a bucket. The kernel releases the lock if this process dies."""
        if self._file == -1:
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX, BUCKET.size, place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, BUCKET.size, place)
