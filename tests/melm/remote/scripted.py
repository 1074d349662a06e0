"""A service that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Said:
    """An answer; `broken` hangs up instead."""

    status: int = 200
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    broken: bool = False


Answers: TypeAlias = Callable[[Asked], Said]


@dataclass
class ScriptedService:
    """Where it listens, and what it was asked so far."""

    url: str
    asked: list[Asked]


@contextmanager
def scripted_service(answer: Answers) -> Iterator[ScriptedService]:
    """A running one, which answers every request by `answer`."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            request = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length))
            asked.append(request)
            said = answer(request)
            if said.broken:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            body = said.text.encode() if said.text is not None else json.dumps(said.document).encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": "application/json", **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 (the names that http.server looks for)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ScriptedService(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_turn(*answers: Said) -> Answers:
    """One answer after the other; the last one for ever."""
    left = list(answers)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


def fit_document(status: str = "running", **values: Any) -> dict[str, Any]:
    """A fit as the service tells of it."""
    return {
        "id": "fit_1",
        "name": None,
        "created_at": "2026-11-18T00:00:00Z",
        "expires_at": None,
        "metadata": {},
        "status": status,
        "status_detail": None,
        "dataset_id": "ds_1",
        "method": "melm",
        "params": {},
        "validation": None,
        "progress": {"starts_done": 1, "n_starts": 4, "best_divergence": 1.5, "eta_seconds": 9.0},
        "attempts": 1,
        "n_fits": 1,
        "recoveries": 0,
        "started_at": None,
        "ended_at": None,
        "error": None,
        "model_id": "mdl_1" if status == "succeeded" else None,
        "reused": False,
        "said_by_a_later_service": True,
        **values,
    }
