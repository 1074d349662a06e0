"""Middleware for every request: its id, log line, metrics, and a response if a handler fails unexpectedly."""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import problems
from service.intake.memory import Memory
from service.operation import logs
from service.operation.connections import ClientConnection
from service.operation.metrics import Metrics

logger = logging.getLogger("service.request")

PROCESS = secrets.token_hex(6)
NUMBERS = itertools.count(1)
# If a browser shows a response (a report, plot or error), it runs no script, loads nothing and has no origin.
POLICY = (
    b"content-security-policy",
    b"sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
QUIET_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})  # requested every few seconds, so not logged


class Observation:
    """The outermost middleware. It is plain ASGI, because that costs little."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: logs.RequestLog, memory: Memory) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_at = time.perf_counter()
        request_id = scope["request_id"] = id_of(scope)
        token = logs.request_id.set(request_id)
        added = [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]
        status = 0
        connection: ClientConnection | None = scope.get("state", {}).get("connection")
        if connection is not None:
            connection.begin_request(declared_bytes(scope))

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *added]
                if not any(name == POLICY[0] for name, _ in message["headers"]):  # the pages have their own
                    message["headers"].append(POLICY)
            await send(message)

        try:
            with self._memory.request():
                await self._app(scope, receive, send_observed)
        except Exception as error:
            logger.exception("unexpected failure")
            if status == 0:
                await problems.answer_unknown(Request(scope), error)(scope, receive, send_observed)
        finally:
            if connection is not None:
                connection.end_request()
            self._note(scope, status, time.perf_counter() - began_at)
            logs.request_id.reset(token)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if route != "unknown" else "unknown"
        self._metrics.request_counter(method, route, status).inc()
        self._metrics.request_timer(method, route).observe(seconds)
        if route in QUIET_ROUTES or not logger.isEnabledFor(logging.INFO):
            return
        members = {
            "request_id": scope["request_id"],
            "method": scope["method"],
            "route": route,
            "status": status,
            "seconds": round(seconds, 6),
        }
        if fit_id := scope.get("path_params", {}).get("fit_id") or scope.get("fit_id"):
            members["fit_id"] = fit_id
        if tenant := scope.get("tenant"):
            members["tenant"] = tenant
        self._log.add(members)


def declared_bytes(scope: Scope) -> int:
    """The Content-Length of the body, which uvicorn has checked to be a number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def id_of(scope: Scope) -> str:
    """The X-Request-Id of the client, if it is valid, else a new id."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text = value.decode("latin-1")
            if REQUEST_ID.fullmatch(text):
                return str(text)
    return f"{PROCESS}-{next(NUMBERS):x}"
