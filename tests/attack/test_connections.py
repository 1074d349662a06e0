"""Clients that hold connections and give nothing for them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.attack.bystander import N_QUIET, Bystander
from tests.attack.conftest import Record
from tests.attack.service import MALLORY, Attacked, peak_of
from tests.servers import wait_until
from tests.service import samples

pytestmark = pytest.mark.slow

HEAD = f"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {MALLORY}\r\n".encode()
N_UNREAD = 20  # requests for a large answer on each connection
MOST_BYTES_EACH = 1 << 20


def connected(url: str) -> socket.socket:
    """A connection that takes in little by itself."""
    address = urlsplit(url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    return connection


@contextmanager
def many(url: str, n: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Connections that say something and then nothing more, and never read."""
    with ExitStack() as stack:
        connections = []
        for _ in range(n):
            connection = stack.enter_context(connected(url))
            connection.sendall(said)
            connections.append(connection)
        yield connections


def n_open(pid: int) -> int:
    """How many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_connections_that_never_read(
    attacked: Attacked, bystander: Bystander, record: Record, size: Callable[[int, int], int]
) -> None:
    n, pid = size(400, 1_100), attacked.api.process.pid
    before = n_open(pid)
    with bystander.watching() as seen, peak_of(pid) as peak, many(attacked.api.url, n, (HEAD + b"\r\n") * N_UNREAD):
        wait_until(lambda: len(seen.seconds) > N_QUIET and n_open(pid) < before + 20)  # the kernel has cut them off
    assert peak[0] < n * MOST_BYTES_EACH
    record(
        f"{n:,} connections that never read",
        "cut off after `MELM_SEND_TIMEOUT_SECONDS`; 1 MiB each",
        f"{peak[0] / n / 1024:.0f} KiB each; predict {seen.ratio:.1f} times its quiet p99",
    )


def test_headers_that_never_end(
    attacked: Attacked, bystander: Bystander, record: Record, size: Callable[[int, int], int]
) -> None:
    n, pid = size(1_100, 3_000), attacked.api.process.pid  # more than one address may have
    with bystander.watching() as seen, peak_of(pid) as peak, many(attacked.api.url, n, HEAD):
        wait_until(lambda: len(seen.seconds) > N_QUIET)
    assert peak[0] < n * MOST_BYTES_EACH
    record(
        f"{n:,} connections whose headers never end",
        "`MELM_MAX_CONNECTIONS_PER_ADDRESS`; the one that waits longest goes",
        f"predict {seen.ratio:.1f} times its quiet p99",
    )


def test_streams_of_events(
    attacked: Attacked, bystander: Bystander, record: Record, size: Callable[[int, int], int]
) -> None:
    """Each gets the events of its fit, and none a 503 that is not true."""
    n = size(200, 1_000)
    with attacked.api.client(MALLORY) as client:
        fit = samples.fit(client, {"data": samples.irises(), "method": "lda", "validation": None})
    said = HEAD.replace(b"/openapi.json", f"/v1/fits/{fit['id']}/events/stream".encode()) + b"\r\n"
    with bystander.watching() as seen, many(attacked.api.url, n, said) as connections:
        for connection in connections:
            connection.settimeout(60)
        answers = [connection.recv(12) for connection in connections]
        wait_until(lambda: len(seen.seconds) > N_QUIET)
    assert set(answers) == {b"HTTP/1.1 200"}
    record(f"{n:,} streams of events at once", "none is refused", f"predict {seen.ratio:.1f} times its quiet p99")
