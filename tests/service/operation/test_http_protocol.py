"""Clients that send slowly, without end, or nothing at all, over plain sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from service.operation.http_protocol import MAX_HEADER_BYTES
from tests.servers import RedisServer
from tests.service.api import Api, api_process

PATIENCE_SECONDS = 60.0  # far beyond the service's own
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
