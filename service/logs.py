"""Logs as JSON lines, with the ids of the request and of the fit that they are about."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line; what a caller gives as `extra` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        members = {name: value for name, value in record.__dict__.items() if name not in PLAIN}
        if record.exc_info:
            members["exception"] = self.formatException(record.exc_info)
        return line(record.levelname.lower(), record.name, record.getMessage(), members)


def line(level: str, logger: str, message: str, members: dict[str, Any]) -> str:
    """A line of the log."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    entry = {"at": at, "level": level, "logger": logger, "message": message, "request_id": request_id.get(), **members}
    return msgspec.json.encode(entry, enc_hook=str).decode()


def write_request(members: dict[str, Any]) -> None:
    """The line of a request, past the logging package, which would cost as much as the rest of a small request."""
    sys.stderr.write(line("info", "service.request", "request", members) + "\n")


def configure(level: str) -> None:
    """Send everything that is logged to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True  # the service logs requests itself, with their ids
