"""The memory of requests: each reserves the bytes that it has sent and those that parsing them takes.

The memory of a process stays below a base and `FACTOR` times `MELM_MAX_BYTES_IN_FLIGHT`. Code that allocates
much memory for a body reserves it by `hold` first. The first bytes of each request are free, because the number of
connections is limited.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock

import pyarrow as pa

from service.errors import Busy, TooLarge

FACTOR = 3  # how many times the bytes in flight a process may take: tests/attack/test_memory.py measures it
FREE_BYTES = 64 << 10  # of each request
SHARE = 0.5  # of all memory: the most that one of several tenants may hold
PIECE_BYTES = 1 << 20

LIST_BYTES = 100  # of a list or an object parsed from JSON, in addition to its content
TEXT_BYTES = 64  # of a string parsed from JSON
CELL_BYTES = 16  # of an entry in a list parsed from JSON
MEMBER_BYTES = 1_000  # of a member of a zip file
ROW_BYTES = 24  # of a row of a table: its label, codes and checks
COLUMN_BYTES = 5_000  # of a column of CSV, which Arrow parses by itself
SPARSE_CELL_BYTES = 12  # of an entry of a sparse matrix, which may have to be sorted
SPARSE_COLUMN_BYTES = 64  # of a column of a sparse matrix: its extremes, and whether it is constant
DISTINCT_BYTES = 200  # of each distinct string of a table, in addition to its characters


class Memory:
    """The bytes that all requests of this process hold, with a limit for all and, with several tenants, for each."""

    def __init__(self, limit_bytes: int, has_many_tenants: Callable[[], bool] = lambda: False) -> None:
        self._limit_bytes = limit_bytes
        self._has_many_tenants = has_many_tenants
        self._n_bytes: defaultdict[str, int] = defaultdict(int)  # by tenant
        self._lock = Lock()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Account for one request, until the block ends."""
        held = ReservedMemory(self)
        token = HELD.set(held)
        try:
            yield
        finally:
            HELD.reset(token)
            held.release()

    def take(self, held: ReservedMemory, n_more: int) -> None:
        """Admit more bytes of a request."""
        with self._lock:
            limit = round(self._limit_bytes * (SHARE if self._has_many_tenants() else 1))
            if held.n_admitted + n_more > limit:
                raise TooLarge(limit, "in memory the body takes more than")
            if self._n_bytes[held.tenant] + n_more > limit or sum(self._n_bytes.values()) + n_more > self._limit_bytes:
                raise Busy(retry_after_seconds=1)
            self._n_bytes[held.tenant] += n_more

    def give_back(self, held: ReservedMemory) -> None:
        """A request has ended."""
        with self._lock:
            self._n_bytes[held.tenant] -= held.n_admitted
            if not self._n_bytes[held.tenant]:
                del self._n_bytes[held.tenant]


class ReservedMemory:
    """What one request holds."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.tenant = ""
        self.n_bytes = 0
        self.n_admitted = 0

    def add(self, n_bytes: int) -> None:
        """Reserve more; raises if there is no room."""
        self.n_bytes += n_bytes
        if self.n_bytes > FREE_BYTES:
            n_more = self.n_bytes - self.n_admitted
            self._memory.take(self, n_more)
            self.n_admitted += n_more

    def release(self) -> None:
        """Release all that the request holds."""
        if self.n_admitted:
            self._memory.give_back(self)


HELD: ContextVar[ReservedMemory | None] = ContextVar("held", default=None)  # of the request that is being answered


def hold(n_bytes: int) -> None:
    """Reserve bytes for the current request; 503 if there is no room now, 413 if there never will be."""
    held = HELD.get()
    if held is not None:
        held.add(n_bytes)


def belongs_to(tenant: str) -> None:
    """Set the tenant of the current request, before it holds anything."""
    held = HELD.get()
    if held is not None and not held.n_admitted:
        held.tenant = tenant


def hold_unfolded(media_type: str, body: bytes | memoryview) -> None:
    """Reserve the memory that parsing a whole body takes, before it is parsed."""
    if len(body) > FREE_BYTES or media_type == "application/x-npz":
        unfold = UNFOLDED.get(media_type)
        if unfold is not None:
            hold(unfold(body))


def of_json(body: bytes | memoryview) -> int:
    """The bytes of lists, objects and strings parsed from JSON: small ones take many times their size as text."""
    n_bytes = 0
    for begin in range(0, len(body), PIECE_BYTES):
        piece = bytes(body[begin : begin + PIECE_BYTES])
        n_bytes += LIST_BYTES * (piece.count(b"[") + piece.count(b"{"))
        n_bytes += TEXT_BYTES * piece.count(b'"') // 2 + CELL_BYTES * piece.count(b",")
    return n_bytes


def of_npz(body: bytes | memoryview) -> int:
    """The bytes of compressed members. Uncompressed members remain views of the body."""
    n_bytes = 0
    for begin in range(0, len(body), PIECE_BYTES):
        n_bytes += MEMBER_BYTES * bytes(body[begin : begin + PIECE_BYTES]).count(b"PK\x01\x02")
    hold(n_bytes)
    with suppress(zipfile.BadZipFile, ValueError, OSError), zipfile.ZipFile(pa.BufferReader(body)) as archive:
        return sum(each.file_size for each in archive.infolist() if each.compress_type != zipfile.ZIP_STORED)
    return 0


UNFOLDED: dict[str, Callable[[bytes | memoryview], int]] = {
    "application/json": of_json,
    "application/x-npz": of_npz,
}
