"""HTTP connections that cannot be held open by a client that sends slowly or without end."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 64 * 1024
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which waits for headers for as long as it takes, with bounds on time and size.

    While a request is at work its handler bounds what arrives; this looks after everything before and after.
    """

    def __init__(self, config: Config, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        self._settings = config.loaded_app.state.context.settings  # the app that `create_app` made
        self._timer: asyncio.TimerHandle | None = None
        self._in_headers = False
        self._header_bytes = 0
        self._has_asked = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected, and is to say what they want."""
        super().connection_made(transport)
        self._arm(self._settings.header_timeout_seconds)

    def data_received(self, data: bytes) -> None:
        """Take bytes, and look whether anybody bounds what is still to come."""
        super().data_received(data)
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse(TOO_LARGE)
            self._arm(self._settings.header_timeout_seconds)
        elif self._is_idle:  # a body that nobody reads
            self._arm(self._settings.upload_timeout_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side is gone."""
        self._disarm()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The request is known, and its handler begins."""
        self._in_headers = False
        self._header_bytes = 0
        self._has_asked = True
        self._disarm()
        super().on_headers_complete()

    @property
    def _is_idle(self) -> bool:
        """No request is at work."""
        return not self._has_asked or self.cycle.response_complete

    def _arm(self, seconds: float) -> None:
        """Begin to wait; what has begun already is not prolonged."""
        if self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(seconds, self._refuse, TIMEOUT)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, answer: bytes) -> None:
        """Close, and say why to somebody who has begun to ask and gets no other answer."""
        if self._is_idle and self._in_headers:
            self.transport.write(answer)
        self.transport.close()
