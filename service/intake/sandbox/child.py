"""A child process for one body: it limits itself, decodes, and leaves the table in a file.

The body may compromise it, so `service.intake.sandbox.output` validates everything that it returns.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from melm.tables import arrow, excel
from melm.tables.arrow import ArrowError, Buffer, CheckSize, MakeRoom, NotArrow
from melm.tables.excel import ExcelError, NotExcel
from melm.tables.table import Table
from melm.typing import Array
from service.intake.sandbox import seccomp

PR_SET_PDEATHSIG, PR_SET_THP_DISABLE = 1, 41
MADV_POPULATE_WRITE = 23
LIBC = ctypes.CDLL(None)
MAX_REPLY_BYTES = 60_000  # less than the capacity of a pipe, so that writing never blocks
READERS: dict[str, Callable[[Buffer, Collection[str], CheckSize, MakeRoom], Table]] = {
    "arrow": arrow.read_stream,
    "parquet": arrow.read_parquet,
}


@dataclass(frozen=True)
class Task:
    """The task of a child, with its limits."""

    reader: str
    text: list[str]  # columns that are read as text, whatever their type
    memory_bytes: int  # in addition to that of the warm process
    output_bytes: int
    seconds: int
    sheet: str | None  # of a workbook
    max_rows: int
    max_columns: int
    max_cells: int


class Oversized(Exception):
    """The table has too many rows, columns or cells."""


def run(task: Task, body: int, output: int, reply: int) -> None:
    """Decode the body that is open as `body`. Never returns."""
    try:
        size = os.fstat(body).st_size
        data = memoryview(mmap.mmap(body, size, access=mmap.ACCESS_READ)) if size else memoryview(b"")
        os.ftruncate(output, task.output_bytes)  # a sparse file: pages that are never written take no space
        room = mmap.mmap(output, task.output_bytes)
        confine(task)
        answer = decode(task, data, room)
    except Oversized as error:
        answer = {"oversized": error.args}
    except (NotArrow, NotExcel) as error:
        answer = {"malformed": str(error)}
    except ArrowError as error:
        answer = {"problems": error.problems[:100]}
    except ExcelError as error:
        answer = {"problems": [(None, str(error), error.advice)]}
    except MemoryError:
        answer = {"out_of_memory": True}
    except BaseException as error:  # a decoder may raise anything on malicious bytes
        answer = {"malformed": f"cannot be decoded ({type(error).__name__})"}
    with suppress(BaseException):
        text = json.dumps(answer).encode()
        os.write(reply, text if len(text) <= MAX_REPLY_BYTES else b'{"malformed": "cannot be decoded"}')
    os._exit(0)


def confine(task: Task) -> None:
    """Drop all privileges that decoding does not need."""
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        LIBC.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
    limits = {
        resource.RLIMIT_AS: own_bytes() + task.memory_bytes,
        resource.RLIMIT_CPU: task.seconds,
        resource.RLIMIT_FSIZE: task.output_bytes,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))
    seccomp.restrict()


def own_bytes() -> int:
    """The address space that this process takes already."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # macOS has no such file, and does not enforce the limit either
        return 4 << 30


def decode(task: Task, data: memoryview, room: mmap.mmap) -> dict[str, Any]:
    """Write numbers and codes of the table, then a header, into the room; returns where the header begins and ends."""

    def check_size(n_rows: int, n_columns: int) -> None:
        if n_rows > task.max_rows or n_columns > task.max_columns or n_rows * n_columns > task.max_cells:
            raise Oversized(n_rows, n_columns)

    def make_room(shape: tuple[int, int]) -> Array:
        with suppress(OSError):  # to populate all pages at once is much faster than by page faults
            room.madvise(MADV_POPULATE_WRITE, 0, 8 * shape[0] * shape[1])
        return np.frombuffer(room, np.float64, shape[0] * shape[1]).reshape(shape)

    if task.reader == "excel":
        text = excel.to_csv(data, task.sheet)
        return {"text": fill(room, 0, text)}
    table = READERS[task.reader](data, task.text, check_size, make_room)
    header = {
        "n_rows": len(table),
        "names": table.names,
        "number_names": table.number_names,
        "text_names": table.text_names,
        "categories": table.categories,
    }
    begin = table.numbers.nbytes + table.codes.nbytes
    room[table.numbers.nbytes : begin] = table.codes.tobytes()
    return {"header": [begin, fill(room, begin, json.dumps(header).encode())]}


def fill(room: mmap.mmap, begin: int, content: bytes) -> int:
    """Write to the room; returns where the content ends."""
    end = begin + len(content)
    if end > len(room):
        raise MemoryError
    room[begin:end] = content
    return end
