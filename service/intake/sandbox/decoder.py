"""Bodies of memory-unsafe formats to tables, by way of the sandbox."""

from __future__ import annotations

import atexit
import fcntl
import itertools
import logging
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec
import numpy as np

from melm.tables.arrow import ArrowError, NotArrow, new_matrix
from melm.tables.excel import ExcelError, NotExcel, to_csv
from melm.tables.table import NO_CATEGORY, Table
from service.errors import FieldError, Invalid, Malformed, escape
from service.intake.formats.table import SPILL_BYTES, Content, Limits, check_size
from service.intake.memory import hold
from service.intake.sandbox.child import MAX_REPLY_BYTES, READERS, Task
from service.intake.sandbox.forker import LENGTH_BYTES
from worker.store.errors import StoreUnavailable

logger = logging.getLogger(__name__)

MAX_CHILDREN = 2  # at once
MEMORY_BYTES = 300_000_000  # that a child may take beside
MEMORY_PER_BYTE = 8  # times the body
SECONDS = 30  # that a child may take, and one more
BYTES_PER_SECOND = 4 << 20  # for each of these in the body
WARM_SECONDS = 60  # that the warm process may take to start, on a machine that has much else to do
ATTEMPTS = 3  # to start it, or to have it live long enough
SEALS = ("F_SEAL_SEAL", "F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_WRITE")
ENVIRONMENT = {  # no thread but the first, and the allocator of the system, which a limit of memory can refuse
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # all memory of a child is new to it: large pages, and none given back
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
}
OTHERWISE = "write the file again, or send the table as CSV"


class Reply(msgspec.Struct, forbid_unknown_fields=True):
    """What a child says at its end."""

    header: tuple[int, int] | None = None  # where it begins in the output, and where it ends
    malformed: str | None = None
    text: int | None = None  # how many bytes of the output are the CSV of a workbook
    problems: list[tuple[str | None, str, str | None]] | None = None  # column, fault, fix
    oversized: tuple[int, int] | None = None  # rows and columns
    out_of_memory: bool = False


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """What a table has beside its numbers and codes."""

    n_rows: int
    names: list[str]
    number_names: list[str]
    text_names: list[str]
    categories: list[list[str]]


class Broken(Exception):
    """The warm process is gone."""


class Sandbox:
    """The warm process of this one. It is started when it is first needed, and again when it has died."""

    def __init__(self) -> None:
        self._free = BoundedSemaphore(MAX_CHILDREN)
        self._lock = Lock()
        self._requests: socket.socket | None = None
        self._warm: subprocess.Popen[bytes] | None = None

    def decode(self, reader: str, body: Content, limits: Limits, text: Collection[str] = ()) -> Table:
        """The table of a body; `text` names columns that are text whatever they hold."""
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
        """The output of a child that was content with the body, and what it says of it."""
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
            # A small body may unfold to a large table, and a child sees its size first: such a table goes to the disk.
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
        """The number of the warm process, where there is one."""
        return None if self._warm is None else self._warm.pid

    def close(self) -> None:
        """Let the warm process end."""
        with self._lock:
            self._forget()

    def _patiently(self, task: Task, source: int, output: int) -> bytes | int:
        """What a child says; another one where the warm process died, which is no fault of the body."""
        for _ in range(ATTEMPTS):
            with suppress(Broken):
                return self._run(task, source, output)
        raise StoreUnavailable("No process can be started that decodes the body.")

    def _run(self, task: Task, source: int, output: int) -> bytes | int:
        """What a child says; its exit code where it says nothing. It has ended when this returns."""
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
        """The number that the warm process answers with, and which one it was: children die with theirs."""
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
    """What the warm process knows: where programs and modules are, no settings and no secrets."""
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
    """All that is written to a pipe before the deadline, until nobody can write any more."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    said = b""
    while len(said) <= MAX_REPLY_BYTES and waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(file, MAX_REPLY_BYTES + 1)
        if not piece:
            return said
        said += piece
    return b""


def check_reply(answer: bytes | int, task: Task, limits: Limits) -> Reply:
    """What a child says that has left something in the output; otherwise what went wrong."""
    if isinstance(answer, int):
        logger.warning("a decoder died", extra={"reader": task.reader, "exit_code": answer})
        if -answer in (signal.SIGKILL, signal.SIGXCPU):
            detail = f"decoding takes longer than the {task.seconds} seconds that a body of this size has"
            raise Invalid([FieldError("", detail, OTHERWISE)])
        raise Invalid([FieldError("", "the body brought its decoder down: it is damaged, or made to", OTHERWISE)])
    try:
        reply = msgspec.json.decode(answer, type=Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        reply = Reply()
    if reply.out_of_memory:
        detail = f"decoding takes more than the {task.memory_bytes // 10**6} MB of memory that a body of this size has"
        raise Invalid([FieldError("", detail, OTHERWISE)])
    if reply.oversized is not None:
        check_size(*reply.oversized, limits)
    if reply.problems:
        raise refusal(reply.problems)
    if reply.malformed is not None:
        raise Malformed(f"the body {reply.malformed}")
    return reply


def read_table(output: int, place: tuple[int, int], limits: Limits) -> Table:
    """The table in a file that nobody writes any more, checked. What is written to it here stays here."""
    begin, end = place
    if not 0 <= begin < end <= os.fstat(output).st_size:
        raise nonsense()
    hold(min(begin, SPILL_BYTES) + 2 * (end - begin))
    if hasattr(fcntl, "F_ADD_SEALS"):
        with suppress(OSError):  # a file on the disk has none; the child is dead either way
            fcntl.fcntl(output, fcntl.F_ADD_SEALS, sum(getattr(fcntl, name) for name in SEALS))
    content = mmap.mmap(output, end, access=mmap.ACCESS_COPY)
    try:
        header = msgspec.json.decode(memoryview(content)[begin:end], type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise nonsense() from None
    check_header(header, begin, limits)
    shape = header.n_rows, len(header.number_names)
    numbers = np.frombuffer(content, np.float64, shape[0] * shape[1]).reshape(shape)
    codes = np.frombuffer(content, np.int32, header.n_rows * len(header.text_names), offset=numbers.nbytes)
    codes = codes.reshape(header.n_rows, len(header.text_names))
    for index, values in enumerate(header.categories):
        column = codes[:, index]
        if len(column) and not (column.min() >= NO_CATEGORY and column.max() < len(values)):
            raise nonsense()
    categories = tuple(tuple(values) for values in header.categories)
    return Table(tuple(header.names), tuple(header.number_names), numbers, tuple(header.text_names), codes, categories)


def check_header(header: Header, n_bytes: int, limits: Limits) -> None:
    """Refuse a header that is at odds with itself, or with the bytes before it."""
    names = header.names
    is_sound = (
        header.n_rows >= 0
        and len(set(names)) == len(names) == len(header.number_names) + len(header.text_names)
        and set(names) == {*header.number_names, *header.text_names}
        and len(header.categories) == len(header.text_names)
        and all(a < b for values in header.categories for a, b in itertools.pairwise(values))
    )
    if not is_sound:
        raise nonsense()
    check_size(header.n_rows, len(names), limits)
    if n_bytes != header.n_rows * (8 * len(header.number_names) + 4 * len(header.text_names)):
        raise nonsense()


def refusal(problems: Iterable[tuple[str | None, str, str | None]]) -> Invalid:
    """What is wrong with columns: column (None: all), fault and fix."""
    return Invalid(
        FieldError("" if column is None else f"/{escape(column)}", detail, fix) for column, detail, fix in problems
    )


def nonsense() -> Invalid:
    """What is said of a child that left no table."""
    logger.warning("a decoder left no table")
    return Invalid([FieldError("", "the body made its decoder talk nonsense: it is damaged, or made to", OTHERWISE)])


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
    """The sheet of a workbook as CSV; one of one's own is converted in this process."""
    if not limits.are_for_own_files:
        return SANDBOX.convert(body, limits, sheet)
    try:
        return to_csv(body, sheet)
    except NotExcel as error:
        raise Malformed(f"the body {error}") from None
    except ExcelError as error:
        raise refusal([(None, str(error), error.advice)]) from None
