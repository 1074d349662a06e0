"""Limits on client connections: their number, in total and per address, and how long they may be idle.

uvicorn speaks HTTP. A `Connection` stands between uvicorn's protocol and the socket: it passes everything on, counts
bytes and notes the time. The application finds it in its scope, as `state["connection"]`, and tells it when a request
begins and ends. During a request its handler limits what arrives, and the kernel limits how long a client may leave a
response unread (TCP_USER_TIMEOUT, which accepted connections inherit from the listening socket).
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from service.settings import ServiceSettings

MAX_HEADER_BYTES = 64 * 1024
FILES_OF_OUR_OWN = 200  # for other purposes: connections to Redis, logs, uploads
MAX_FILES = 1 << 16
SWEEPS = 4  # per header timeout
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on the number of connections of a process, and on their idle time."""

    in_all: int
    per_address: int
    header_seconds: float
    upload_seconds: float


class Connections:
    """All connections of one process. If there are too many, the longest idle one is closed."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._by_address: defaultdict[str, dict[ClientConnection, None]] = defaultdict(dict)  # oldest first
        self._n = 0
        self._is_sweeping = False

    def take(self, connection: ClientConnection) -> None:
        """Add a connection."""
        same = self._by_address[connection.address]
        same[connection] = None
        self._n += 1
        if len(same) > self.limits.per_address:
            self._make_room(same)
        elif self._n > self.limits.in_all:
            self._make_room(self._all())
        if not self._is_sweeping:
            self._sweep()

    def forget(self, connection: ClientConnection) -> None:
        """Remove a connection."""
        same = self._by_address[connection.address]
        if connection in same:
            del same[connection]
            self._n -= 1
        if not same:
            del self._by_address[connection.address]

    def _make_room(self, connections: Iterable[ClientConnection]) -> None:
        """Close the longest idle connection; if all others have requests, this is the new one."""
        waiting = [(each.waiting_since, each) for each in connections if each.waiting_since is not None]
        _, longest = min(waiting, key=itemgetter(0))
        self.forget(longest)
        longest.abort()

    def _all(self) -> Iterator[ClientConnection]:
        for same in self._by_address.values():
            yield from same

    def _sweep(self) -> None:
        """Close connections that have timed out, periodically; that costs less than a timer for each request."""
        loop = asyncio.get_running_loop()
        for connection in list(self._all()):
            connection.close_when_late(loop.time())
        self._is_sweeping = self._n > 0
        if self._is_sweeping:
            loop.call_later(self.limits.header_seconds / SWEEPS, self._sweep)


class ClientConnection(asyncio.Protocol):
    """One connection: wraps uvicorn's protocol and applies timeouts."""

    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        app_state = {**of_uvicorn.pop("app_state"), "connection": self}
        self._http: Any = cast(Any, AutoHTTPProtocol)(app_state=app_state, **of_uvicorn)
        self._transport: asyncio.Transport | None = None
        self._idle_since: float | None = self._loop.time()
        self._blocked_since: float | None = None
        self._n_at_work = 0
        self._n_bytes = 0  # since the last request ended
        self._n_declared = 0  # of the last body
        self._n_leftover = 0  # the rest of that body, which the client may still send
        self.address = ""

    @property
    def waiting_since(self) -> float | None:
        """Since when the server waits for the client to send or to read; None while it processes a request."""
        return self._idle_since if self._blocked_since is None else self._blocked_since

    def begin_request(self, n_declared: int) -> None:
        """The application has received a request, whose body has the declared size."""
        self._n_at_work += 1
        self._n_declared = n_declared
        self._idle_since = None

    def end_request(self) -> None:
        """The application has responded. What follows are headers, or the rest of a body that was refused."""
        self._n_at_work -= 1
        if self._n_at_work == 0:
            self._n_leftover = max(self._n_declared + MAX_HEADER_BYTES - self._n_bytes, 0) if self._n_declared else 0
            self._n_bytes = 0
            self._idle_since = self._loop.time()

    def close_when_late(self, now: float) -> None:
        """Close the connection if it has timed out, with status 408 if a request has begun."""
        limits = self._connections.limits
        patience = limits.upload_seconds if self._n_leftover else limits.header_seconds
        if self._idle_since is not None and now - self._idle_since > patience:
            self._close(TIMEOUT if self._n_bytes and not self._n_leftover else b"")

    def abort(self) -> None:
        """Close without a response."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        self._connections.take(self)
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of headers that are not complete yet."""
        if self._n_bytes == 0 and self._idle_since is not None:
            self._idle_since = self._loop.time()
        self._n_bytes += len(data)
        self._http.data_received(data)
        if self._n_at_work == 0 and self._n_bytes > MAX_HEADER_BYTES + self._n_leftover:
            self._loop.call_soon(self._refuse_endless)  # after the request that these bytes begin, if they do

    def _refuse_endless(self) -> None:
        if self._n_at_work == 0 and self._n_bytes > MAX_HEADER_BYTES + self._n_leftover:
            self._close(TOO_LARGE)

    def _close(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)
            self._transport.close()

    def eof_received(self) -> bool | None:
        """The client has closed its side."""
        return cast("bool | None", self._http.eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._connections.forget(self)
        self._http.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than the server writes (back pressure)."""
        self._blocked_since = self._loop.time()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """The client has read enough for writing to continue."""
        self._blocked_since = None
        self._http.resume_writing()


@contextmanager
def listening(settings: ServiceSettings) -> Iterator[socket.socket]:
    """The socket on which the service listens, with options that accepted connections inherit.

    The kernel closes connections whose client leaves a response unread for too long. TCP_NODELAY sends small responses
    at once: uvloop, which gets this socket as a descriptor, does not set it, and would delay them by 40 ms.
    """
    found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(found)  # IPv4 before IPv6, if a name has both
    with socket.create_server(address, family=family) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            milliseconds = round(settings.send_timeout_seconds * 1000)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        yield listener


def protocol_of(settings: ServiceSettings) -> type[asyncio.Protocol]:
    """The protocol factory for uvicorn, which is called for each connection, in each process."""
    n_files = raise_file_limit()
    limits = ConnectionLimits(
        in_all=min(settings.max_connections, max(n_files - FILES_OF_OUR_OWN, 1)),
        per_address=settings.max_connections_per_address,
        header_seconds=settings.header_timeout_seconds,
        upload_seconds=settings.upload_timeout_seconds,
    )
    return cast("type[asyncio.Protocol]", partial(ClientConnection, Connections(limits)))


def raise_file_limit() -> int:
    """Raise the limit of open files of this process and its children; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return allowed
    return allowed if soft == resource.RLIM_INFINITY else soft
