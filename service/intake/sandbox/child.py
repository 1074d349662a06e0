"""What a child does with one body: limits itself, decodes, leaves the table in a file. It may be taken over meanwhile.

So nothing that it says is believed before `service.intake.sandbox` has checked it.
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
MAX_REPLY_BYTES = 60_000  # less than a pipe holds, so that writing it never waits
READERS: dict[str, Callable[[Buffer, Collection[str], CheckSize, MakeRoom], Table]] = {
    "arrow": arrow.read_stream,
    "parquet": arrow.read_parquet,
}


@dataclass(frozen=True)
class Task:
    """What a child is asked for, and how much of everything it may use."""

    reader: str
    text: list[str]  # columns that are text whatever they hold
    memory_bytes: int  # beyond what the warm process takes
    output_bytes: int
    seconds: int
    sheet: str | None  # of a workbook
    max_rows: int
    max_columns: int
    max_cells: int


class Oversized(Exception):
    """The table has more rows, columns or cells than it may have."""


def run(task: Task, body: int, output: int, reply: int) -> None:
    """Decode the body that is open as `body`. Never returns."""
    try:
        size = os.fstat(body).st_size
        data = memoryview(mmap.mmap(body, size, access=mmap.ACCESS_READ)) if size else memoryview(b"")
        os.ftruncate(output, task.output_bytes)  # what is never written to takes no room
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
    except BaseException as error:  # whatever a decoder raises on bytes made to break it
        answer = {"malformed": f"cannot be decoded ({type(error).__name__})"}
    with suppress(BaseException):
        text = json.dumps(answer).encode()
        os.write(reply, text if len(text) <= MAX_REPLY_BYTES else b'{"malformed": "cannot be decoded"}')
    os._exit(0)


def confine(task: Task) -> None:
    """Give up everything that decoding does not need."""
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
    except OSError:  # there is no such file on macOS, which does not hold the limit either
        return 4 << 30


def decode(task: Task, data: memoryview, room: mmap.mmap) -> dict[str, Any]:
    """The table: its numbers and codes in the room, then a header; the answer says where that begins and ends."""

    def check_size(n_rows: int, n_columns: int) -> None:
        if n_rows > task.max_rows or n_columns > task.max_columns or n_rows * n_columns > task.max_cells:
            raise Oversized(n_rows, n_columns)

    def make_room(shape: tuple[int, int]) -> Array:
        with suppress(OSError):  # all pages at once cost a fraction of one by one
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
    """Write to the room; answers where the content ends."""
    end = begin + len(content)
    if end > len(room):
        raise MemoryError
    room[begin:end] = content
    return end
