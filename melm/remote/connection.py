"""The HTTP connection to the service, which retries failed requests."""

from __future__ import annotations

import os
import random
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx2

from melm.remote.errors import Conflict, RemoteError, ResponseError, Unavailable, Unreachable

KEY_VARIABLE = "MELM_API_KEY"
PATIENCE_SECONDS = 90.0  # longer than the service keeps the idempotency key of an interrupted request in flight
FIRST_PATIENCE_SECONDS = 3.0  # before the first response, a wrong address is more likely than an outage
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
ANSWER_SECONDS = 60.0
WORTH_ANOTHER_TRY = {408, 429, 502, 503, 504}
INTERNAL_ERROR_TRIES = 3  # a retry rarely helps against a bug of the service


class HttpConnection:
    """Sends requests, with retries and exponential backoff."""

    def __init__(self, url: str, api_key: str | None = None, patience_seconds: float = PATIENCE_SECONDS) -> None:
        key = api_key or os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=timeout(ANSWER_SECONDS))
        weakref.finalize(self, self._http.close)  # for callers that drop a client without closing it
        self._patience_seconds = patience_seconds
        self._answered = False

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def get(self, path: str, **parameters: str | int | None) -> Any:
        """The JSON document at a path."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return self.send("GET", path, params=given).json()

    def pages(self, path: str, **parameters: str | None) -> Iterator[dict[str, Any]]:
        """The items of all pages."""
        cursor = None
        while True:
            page = self.get(path, cursor=cursor, limit=100, **parameters)
            yield from page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        patience_seconds: float | None = None,
        **options: Any,
    ) -> httpx2.Response:
        """Send a request and return the response. All retries have the same Idempotency-Key, so it is executed once."""
        patience = self._patience_seconds if patience_seconds is None else patience_seconds
        key = {"Idempotency-Key": uuid4().hex} if method == "POST" else {}
        began_at, tries = time.monotonic(), 0
        while True:
            tries += 1
            try:
                return self._try(method, path, headers={**key, **(headers or {})}, **options)
            except (ResponseError, Unreachable) as error:
                pause = pause_before_try(error, tries)
                limit = patience if self._answered else min(patience, FIRST_PATIENCE_SECONDS)
                if pause is None or time.monotonic() + pause - began_at > limit:
                    raise
            time.sleep(pause)

    @contextmanager
    def stream(self, path: str, *, headers: Mapping[str, str], silence_seconds: float) -> Iterator[httpx2.Response]:
        """A streamed response, with a timeout for the time between two pieces."""
        response = self.send("GET", path, headers=headers, stream=True, timeout=timeout(silence_seconds))
        try:
            yield response
        finally:
            response.close()

    def _try(self, method: str, path: str, *, stream: bool = False, **options: Any) -> httpx2.Response:
        request = self._http.build_request(method, path, **options)
        try:
            response = self._http.send(request, stream=True)
            self._answered = True
            if stream and response.is_success:
                return response
            response.read()
        except httpx2.TransportError as error:
            raise Unreachable(f"{self.url} does not answer: {str(error) or type(error).__name__}") from error
        if response.is_error:
            raise ResponseError.of(response)
        return response


def timeout(answer_seconds: float) -> httpx2.Timeout:
    """The timeouts of a request."""
    return httpx2.Timeout(connect=5.0, read=answer_seconds, write=60.0, pool=60.0)


def pause_before_try(error: RemoteError, tries: int) -> float | None:
    """How long to wait before a retry; None if a retry would not help."""
    if isinstance(error, ResponseError):
        in_flight = isinstance(error, Conflict) and error.retry_after_seconds is not None
        internal = isinstance(error, Unavailable) and error.status == 500 and tries < INTERNAL_ERROR_TRIES
        if not (error.status in WORTH_ANOTHER_TRY or in_flight or internal):
            return None
        if error.status == 429 and error.retry_after_seconds is None:
            return None  # a quota is reached, which waiting does not change
        if error.retry_after_seconds is not None:
            return error.retry_after_seconds * random.uniform(1.0, 1.25)  # noqa: S311 (no secret)
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (tries - 1))
    return random.uniform(longest / 2, longest)  # noqa: S311 (no secret)
