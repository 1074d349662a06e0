"""Logs as JSON lines, with the ids of the request and of the fit."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

WRITE_SECONDS = 0.1
PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """One JSON object per line; the entries of `extra` become members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        members = {name: value for name, value in record.__dict__.items() if name not in PLAIN}
        if record.exc_info:
            members["exception"] = self.formatException(record.exc_info)
        members.setdefault("request_id", request_id.get())
        return line(record.created, record.levelname.lower(), record.name, record.getMessage(), members).decode()


def line(at: float, level: str, logger: str, message: str, members: dict[str, Any]) -> bytes:
    """A line of the log."""
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    entry = {"at": when, "level": level, "logger": logger, "message": message, **members}
    return msgspec.json.encode(entry, enc_hook=str)


class RequestLog:
    """The log of requests, written in batches: writing each line by itself would cost as much as a small request."""

    def __init__(self) -> None:
        self._noted: list[tuple[float, dict[str, Any]]] = []

    def add(self, members: dict[str, Any]) -> None:
        """Add a request; its line is written with the next batch."""
        if not self._noted:
            asyncio.get_running_loop().call_later(WRITE_SECONDS, self.write)
        self._noted.append((time.time(), members))

    def write(self) -> None:
        """Write the batch."""
        noted, self._noted = self._noted, []
        if noted:
            lines = [line(at, "info", "service.request", "request", members) for at, members in noted]
            sys.stderr.buffer.write(b"\n".join([*lines, b""]))
            sys.stderr.flush()


def configure(level: str) -> None:
    """Send everything that is logged to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True  # the service logs requests itself, with their ids
