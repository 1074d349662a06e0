"""A service that goes away and comes back, as a browser sees it: a gate in front of it that breaks all connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

CHUNK_BYTES = 65_536


class Gate:
    """Passes connections on to the service while it is open; refuses them, and breaks those it has, while it is not."""

    def __init__(self, service_url: str) -> None:
        address = urlsplit(service_url)
        self._target = (address.hostname or "", address.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._port}"
        self._accept_in_background()

    def open(self) -> None:
        """Somebody answers again."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._accept_in_background()

    def close(self) -> None:
        """Nobody answers any more."""
        end(self._listener)
        for connection in self._connections:
            end(connection)
        self._connections.clear()

    def _accept_in_background(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._target)
                self._connections += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=pass_on, args=(source, sink), daemon=True).start()


def pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Bytes from one side to the other, until one of them ends."""
    with suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            sink.sendall(chunk)
    end(sink)


def end(connection: socket.socket) -> None:
    """Close also what another thread waits on."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def gate_before(service_url: str) -> Iterator[Gate]:
    """An open gate."""
    gate = Gate(service_url)
    try:
        yield gate
    finally:
        gate.close()
