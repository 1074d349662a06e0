"""Logs as JSON lines, with the ids of the request and of the fit that they are about."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

import msgspec

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line; what a caller gives as `extra` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            line["request_id"] = current
        line |= {name: value for name, value in record.__dict__.items() if name not in PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def configure(level: str) -> None:
    """Send everything that is logged to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True  # the service logs requests itself, with their ids
