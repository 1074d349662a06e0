"""Validates what a child has left: its reply, and a table in the output file. None of it is trusted."""

from __future__ import annotations

import fcntl
import itertools
import logging
import mmap
import os
import signal
from collections.abc import Iterable
from contextlib import suppress

import msgspec
import numpy as np

from melm.tables.table import NO_CATEGORY, Table
from service.errors import FieldError, Invalid, Malformed, escape
from service.intake.formats.table import SPILL_BYTES, Limits, check_size
from service.intake.memory import hold
from service.intake.sandbox.child import Task

logger = logging.getLogger(__name__)

SEALS = ("F_SEAL_SEAL", "F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_WRITE")
OTHERWISE = "write the file again, or send the table as CSV"


class Reply(msgspec.Struct, forbid_unknown_fields=True):
    """The reply of a child."""

    header: tuple[int, int] | None = None  # begin and end of the header in the output
    malformed: str | None = None
    text: int | None = None  # how many bytes of the output are the CSV of a workbook
    problems: list[tuple[str | None, str, str | None]] | None = None  # column, fault, fix
    oversized: tuple[int, int] | None = None  # rows and columns
    out_of_memory: bool = False


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """Everything of a table but its numbers and codes."""

    n_rows: int
    names: list[str]
    number_names: list[str]
    text_names: list[str]
    categories: list[list[str]]


def check_reply(answer: bytes | int, task: Task, limits: Limits) -> Reply:
    """The reply of a child that has succeeded; otherwise raises what went wrong."""
    if isinstance(answer, int):
        logger.warning("a decoder died", extra={"reader": task.reader, "exit_code": answer})
        if -answer in (signal.SIGKILL, signal.SIGXCPU):
            detail = f"decoding takes longer than the {task.seconds} seconds that a body of this size has"
            raise Invalid([FieldError("", detail, OTHERWISE)])
        raise Invalid([FieldError("", "the body crashed its decoder: it is damaged or malicious", OTHERWISE)])
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
    """The table in a file, validated. The file is sealed first, and mapped copy-on-write."""
    begin, end = place
    if not 0 <= begin < end <= os.fstat(output).st_size:
        raise nonsense()
    hold(min(begin, SPILL_BYTES) + 2 * (end - begin))
    if hasattr(fcntl, "F_ADD_SEALS"):
        with suppress(OSError):  # files on disk cannot be sealed; in any case the child is dead
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
    """Refuse a header that is inconsistent with itself or with the bytes before it."""
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
    """The error for problems of columns, each given as column (None: all), error and fix."""
    return Invalid(
        FieldError("" if column is None else f"/{escape(column)}", detail, fix) for column, detail, fix in problems
    )


def nonsense() -> Invalid:
    """The error for a child that left no valid table."""
    logger.warning("a decoder left no table")
    return Invalid([FieldError("", "the decoder returned invalid data: the body is damaged or malicious", OTHERWISE)])
