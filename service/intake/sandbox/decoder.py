"""Decodes bodies of memory-unsafe formats in the sandbox."""

from __future__ import annotations

import atexit
import logging
import mmap
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec

from melm.tables.arrow import ArrowError, NotArrow, new_matrix
from melm.tables.excel import ExcelError, NotExcel, to_csv
from melm.tables.table import Table
from service.errors import Malformed
from service.intake.formats.table import SPILL_BYTES, Content, Limits, check_size
from service.intake.sandbox.child import MAX_REPLY_BYTES, READERS, Task
from service.intake.sandbox.forker import LENGTH_BYTES
from service.intake.sandbox.output import Reply, check_reply, nonsense, read_table, refusal
from worker.store.errors import StoreUnavailable

logger = logging.getLogger(__name__)

MAX_CHILDREN = 2  # at once
MEMORY_BYTES = 300_000_000  # for a child, in addition to
MEMORY_PER_BYTE = 8  # for each byte of the body
SECONDS = 30  # for a child, plus one
BYTES_PER_SECOND = 4 << 20  # for each so many bytes of the body
WARM_SECONDS = 60  # for the warm process to start, on a busy machine
ATTEMPTS = 3  # to start it, or to start it again
ENVIRONMENT = {  # a single thread, and the system allocator, which respects the memory limit
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # a child is short-lived: use huge pages, and return no memory
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
}


class Broken(Exception):
    """The warm process has died."""


class Sandbox:
    """The sandbox of this process. Its warm process is started at the first use, and restarted if it has died."""

    def __init__(self) -> None:
        self._free = BoundedSemaphore(MAX_CHILDREN)
        self._lock = Lock()
        self._requests: socket.socket | None = None
        self._warm: subprocess.Popen[bytes] | None = None

    def decode(self, reader: str, body: Content, limits: Limits, text: Collection[str] = ()) -> Table:
        """The table of a body; `text` names columns that are read as text, whatever their type."""
        with self._reply(reader, body, limits, text=text) as (output, reply):
            if reply.header is None:
                raise nonsense()
            return read_table(output, reply.header, limits)

    def convert(self, body: Content, limits: Limits, sheet: str | None) -> Content:
        """The sheet of a workbook as CSV."""
        with self._reply("excel", body, limits, sheet=sheet) as (output, reply):
            if reply.text is None or not 0 < reply.text <= os.fstat(output).st_size:
                raise nonsense()
            return memoryview(mmap.mmap(output, reply.text, access=mmap.ACCESS_COPY))

    @contextmanager
    def _reply(
        self, reader: str, body: Content, limits: Limits, text: Collection[str] = (), sheet: str | None = None
    ) -> Iterator[tuple[int, Reply]]:
        """The output of a child that has decoded the body, and its reply."""
        n_bytes = len(memoryview(body).cast("B"))
        task = Task(
            reader=reader,
            text=list(text),
            memory_bytes=MEMORY_BYTES + MEMORY_PER_BYTE * n_bytes,
            output_bytes=8 * limits.cells + MEMORY_BYTES + MEMORY_PER_BYTE * n_bytes,
            seconds=SECONDS + n_bytes // BYTES_PER_SECOND,
            sheet=sheet,
            max_rows=limits.rows,
            max_columns=limits.columns,
            max_cells=limits.cells,
        )
        with self._free, unnamed_file(n_bytes) as source:
            write_all(source, body)
            # A small body may decode to a large table. A child first finds out its size; a large table goes to disk.
            for n_output_bytes, max_cells in ((n_bytes, SPILL_BYTES // 8), (SPILL_BYTES + 1, limits.cells)):
                with unnamed_file(n_output_bytes) as output:
                    part = replace(task, max_cells=min(max_cells, limits.cells))
                    reply = check_reply(self._patiently(part, source, output), part, limits)
                    if reply.oversized is None:
                        yield output, reply
                        return
            raise nonsense()

    @property
    def warm_pid(self) -> int | None:
        """The process id of the warm process, if it runs."""
        return None if self._warm is None else self._warm.pid

    def close(self) -> None:
        """End the warm process."""
        with self._lock:
            self._forget()

    def _patiently(self, task: Task, source: int, output: int) -> bytes | int:
        """The reply of a child; retried if the warm process died, which is not caused by the body."""
        for _ in range(ATTEMPTS):
            with suppress(Broken):
                return self._run(task, source, output)
        raise StoreUnavailable("No process can be started that decodes the body.")

    def _run(self, task: Task, source: int, output: int) -> bytes | int:
        """The reply of a child, or its exit code if it sent none. It has ended when this returns."""
        receiver, sender = os.pipe()
        try:
            try:
                warm, child = self._ask({"fork": task}, [source, output, sender])
            finally:
                os.close(sender)
            said = read_until(receiver, time.monotonic() + task.seconds)
            _, code = self._ask({"end": child}, warm=warm)
            return said or code
        finally:
            os.close(receiver)

    def _ask(
        self, request: dict[str, Any], files: Sequence[int] = (), warm: socket.socket | None = None
    ) -> tuple[socket.socket, int]:
        """The reply of the warm process, and its socket: the children of a warm process die with it."""
        with self._lock:
            if warm is not None and warm is not self._requests:
                raise Broken
            if self._requests is None:
                self._requests = self._start()
            message = msgspec.json.encode(request)
            try:
                socket.send_fds(self._requests, [len(message).to_bytes(LENGTH_BYTES), message], files)
                answer = self._requests.recv(32)
            except OSError:
                answer = b""
            if not answer:
                self._forget()
                raise Broken
            return self._requests, int(answer)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "service.intake.sandbox.forker", str(theirs.fileno())]
            self._warm = subprocess.Popen(command, env=environment(), pass_fds=[theirs.fileno()])  # noqa: S603
        ours.settimeout(WARM_SECONDS)
        ours.recv(32)  # it is ready
        return ours

    def _forget(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._warm is not None:
            self._warm.kill()
            self._warm.wait()
            self._warm = None


def environment() -> dict[str, str]:
    """The environment of the warm process: search paths, but no settings and no secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    return kept | ENVIRONMENT


@contextmanager
def unnamed_file(n_bytes: int) -> Iterator[int]:
    """An open file without a name: in memory, or on the disk where the body is large or the system has no memfd."""
    if n_bytes <= SPILL_BYTES and hasattr(os, "memfd_create"):
        file = os.memfd_create("melm", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    try:
        yield file
    finally:
        os.close(file)


def write_all(file: int, content: Content) -> None:
    """Write all of it; a system call may write less."""
    rest = memoryview(content).cast("B")
    while rest:
        rest = rest[os.write(file, rest[: 1 << 30]) :]


def read_until(file: int, deadline: float) -> bytes:
    """Everything that is written to a pipe before the deadline, until its last writer has closed it."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    said = b""
    while len(said) <= MAX_REPLY_BYTES and waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(file, MAX_REPLY_BYTES + 1)
        if not piece:
            return said
        said += piece
    return b""


SANDBOX = Sandbox()
atexit.register(SANDBOX.close)


def decode(reader: str, body: Content, limits: Limits, text: Collection[str] = ()) -> Table:
    """The table of a body of a memory-unsafe format; a trusted one is decoded in this process."""
    if not limits.are_for_own_files:
        return SANDBOX.decode(reader, body, limits, text)
    try:
        return READERS[reader](body, text, lambda n_rows, n_columns: check_size(n_rows, n_columns, limits), new_matrix)
    except NotArrow as error:
        raise Malformed(f"the body {error.problems[0][1]}") from None
    except ArrowError as error:
        raise refusal(error.problems) from None


def convert(body: Content, limits: Limits, sheet: str | None) -> Content:
    """The sheet of a workbook as CSV; a trusted workbook is converted in this process."""
    if not limits.are_for_own_files:
        return SANDBOX.convert(body, limits, sheet)
    try:
        return to_csv(body, sheet)
    except NotExcel as error:
        raise Malformed(f"the body {error}") from None
    except ExcelError as error:
        raise refusal([(None, str(error), error.advice)]) from None
