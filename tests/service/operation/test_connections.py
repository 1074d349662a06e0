"""Clients that send slowly, without end, or nothing at all, over plain sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from service.operation.connections import MAX_HEADER_BYTES, listening
from service.settings import ServiceSettings
from tests.servers import ROOT, RedisServer, children_of, wait_until
from tests.service.api import Api, api_process

PATIENCE_SECONDS = 60.0  # far beyond the service's own
N_THREADS = 40  # in which an API process answers
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def impatient(server: RedisServer, folder: Path) -> Iterator[Api]:
    with api_process(
        server.url, folder / "impatient.log", header_timeout_seconds=0.3, upload_timeout_seconds=0.3
    ) as api:
        yield api


@pytest.fixture
def connection(impatient: Api) -> Iterator[socket.socket]:
    address = urlsplit(impatient.url)
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE_SECONDS) as connection:
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """Everything until the service closes the connection."""
    received = b""
    try:
        while chunk := connection.recv(65_536):
            received += chunk
    except ConnectionResetError:  # it closed while more was on its way to it
        pass
    return received


def answer_of(connection: socket.socket) -> int:
    """The status of one answer, which is read to its end."""
    with HTTPResponse(connection) as response:
        response.begin()
        response.read()
        return response.status


def test_a_connection_that_says_nothing_is_closed(connection: socket.socket) -> None:
    assert rest_of(connection) == b""


@pytest.mark.parametrize("part", [b"G", GET, GET + b"X-Slow: 1"])
def test_headers_that_do_not_end_are_answered_and_closed(connection: socket.socket, part: bytes) -> None:
    connection.sendall(part)
    assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def test_headers_that_trickle_are_given_no_more_time(connection: socket.socket) -> None:
    connection.sendall(GET)
    connection.settimeout(0.05)
    received = b""
    for _ in range(1_000):
        try:
            connection.sendall(b"a")
            received = connection.recv(100)
            break
        except TimeoutError:
            continue
    assert received.startswith(b"HTTP/1.1 408 ")


def test_the_next_request_is_bounded_too(connection: socket.socket) -> None:
    connection.sendall(GET + b"\r\n")
    assert answer_of(connection) == 200
    connection.sendall(GET)
    assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def test_headers_without_end_are_refused(connection: socket.socket) -> None:
    connection.sendall(GET + b"X-Long: " + b"a" * MAX_HEADER_BYTES)
    assert rest_of(connection).startswith(b"HTTP/1.1 431 ")


def test_a_body_that_does_not_arrive_is_answered(connection: socket.socket) -> None:
    head = b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    connection.sendall(head + b"Content-Type: application/json\r\n\r\n{")
    assert answer_of(connection) == 408


def test_a_body_that_nobody_reads_does_not_hold_the_connection(connection: socket.socket) -> None:
    connection.sendall(GET + b"Content-Length: 100\r\n\r\n")
    assert answer_of(connection) == 200
    connection.sendall(b"a")
    assert rest_of(connection) == b""


def test_requests_one_after_the_other_share_a_connection(connection: socket.socket) -> None:
    for _ in range(3):
        connection.sendall(GET + b"\r\n")
        assert answer_of(connection) == 200
    connection.sendall(2 * (GET + b"\r\n"))
    received = b""
    while received.count(b"HTTP/1.1 200 ") < 2:
        received += connection.recv(65_536)


@pytest.mark.parametrize("line", [b"\x00\x01\x02", b"GET \xff\xfe HTTP/1.1", b"GET / HTTP/9.9", b"GET"])
def test_what_is_not_http_gets_400(connection: socket.socket, line: bytes) -> None:
    connection.sendall(line + b"\r\nHost: localhost\r\n\r\n")
    assert rest_of(connection).startswith(b"HTTP/1.1 400 ")


def test_of_too_many_the_one_that_waits_longest_makes_room(server: RedisServer, folder: Path) -> None:
    with ExitStack() as stack:
        api = stack.enter_context(api_process(server.url, folder / "few.log", max_connections_per_address=3))
        address = urlsplit(api.url)
        connections = []
        for _ in range(5):
            connection = stack.enter_context(socket.create_connection((address.hostname, address.port), 60))
            connection.sendall(GET + b"\r\n")
            assert answer_of(connection) == 200
            connections.append(connection)
        for gone in connections[:2]:
            assert rest_of(gone) == b""
        for kept in connections[2:]:
            kept.sendall(GET + b"\r\n")
            assert answer_of(kept) == 200


def test_a_client_that_never_reads_is_cut_off(server: RedisServer, folder: Path) -> None:
    with api_process(server.url, folder / "unread.log", send_timeout_seconds=0.5) as api:
        address = urlsplit(api.url)
        files = Path(f"/proc/{api.process.pid}/fd")
        with socket.create_connection((address.hostname, address.port), 60) as connection:
            connection.sendall(GET + b"\r\n")
            assert answer_of(connection) == 200
            n_files = len(list(files.iterdir()))
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            wait_until(lambda: len(list(files.iterdir())) < n_files)


def test_small_answers_are_sent_at_once() -> None:
    """Without TCP_NODELAY a body that follows its headers waits for the client's delayed acknowledgment, 40 ms."""
    with (
        listening(ServiceSettings(redis_url="redis://localhost", host="127.0.0.1", port=0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_said(impatient: Api) -> None:
    port = str(urlsplit(impatient.url).port)
    environment = {**os.environ, "MELM_PORT": port}
    ended = subprocess.run([sys.executable, "-m", "service"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"melm: cannot listen on 127.0.0.1, port {port}: ")


@pytest.mark.parametrize("n_processes", [1, 2])
def test_a_shutdown_does_not_wait_for_threads(server: RedisServer, folder: Path, n_processes: int) -> None:
    """Not even where all of a process are taken, and none is left for the application's own farewell."""
    log = folder / f"stuck-{n_processes}.log"
    with (
        api_process(server.url, log, module="tests.service.operation.stuck_api", api_processes=n_processes) as api,
        ExitStack() as stack,
    ):
        address = urlsplit(api.url)
        for _ in range(N_THREADS):
            connection = stack.enter_context(socket.create_connection((address.hostname, address.port), 60))
            connection.sendall(b"GET /stuck HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: api.log.read_text().count("stuck now") == N_THREADS)
        processes = [api.process.pid, *children_of(api.process.pid)]
        api.process.terminate()
        api.process.wait(PATIENCE_SECONDS)
        wait_until(lambda: not [pid for pid in processes if Path(f"/proc/{pid}").exists()])
