"""Follows a fit: by its event stream, else by long polling, else by polling at the pace of Retry-After."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import httpx2

from melm.remote.connection import HttpConnection, timeout
from melm.remote.errors import TimedOut, Unavailable, Unreachable, retry_after
from melm.remote.records import Event, FitRecord

SILENCE_SECONDS = 25.0  # the heartbeat comes every 15 s: after this time a proxy must be buffering the stream
BARREN_STREAMS = 3  # streams in a row that ended early and without an event: a proxy must be closing them
LONG_POLL_SECONDS = 20
WATCH_SECONDS = 1

Look: TypeAlias = tuple[FitRecord, float]  # a fit, and how long to wait before the next look
Way: TypeAlias = Callable[[HttpConnection, str, float], Iterator[Look]]  # to follow a fit until a deadline


class WayClosed(Exception):
    """A proxy between client and service does not support this way of following."""


def follow(
    connection: HttpConnection, fit_id: str, timeout_seconds: float | None = None, *, is_watched: bool = False
) -> Iterator[FitRecord]:
    """Yield the fit repeatedly until it has ended. Outages are retried; if one way fails, the next is used.

    With `is_watched` the fit is polled every second, because there are few events while evidence is gathered.
    """
    deadline = math.inf if timeout_seconds is None else time.monotonic() + timeout_seconds
    # Streams are not used with a timeout, because reading from one blocks until the next event.
    ways: tuple[Way, ...] = (by_stream, by_long_poll, by_poll)
    if is_watched:
        ways = (partial(by_long_poll, longest_seconds=WATCH_SECONDS), by_poll)
    elif timeout_seconds is not None:
        ways = ways[1:]
    for way in ways:
        try:
            for record, _ in way(connection, fit_id, deadline):
                yield record
                if not record.is_active:
                    return
                if time.monotonic() >= deadline:
                    raise TimedOut(f"{fit_id} has not ended within {timeout_seconds:g} seconds; it goes on.")
        except WayClosed:
            continue


def follow_events(connection: HttpConnection, fit_id: str, after: str) -> Iterator[Event]:
    """Events as they happen, until the fit has ended."""
    try:
        for event in stream(connection, fit_id, after):
            after = event.id
            yield event
    except WayClosed:
        for record, _ in by_poll(connection, fit_id, math.inf):
            for event in list_events(connection, fit_id, after):
                after = event.id
                yield event
            if not record.is_active:
                return


def by_stream(connection: HttpConnection, fit_id: str, deadline: float) -> Iterator[Look]:
    """Request the fit after each event, unless the event is older than the last request."""
    looked_at, clocks_apart = -math.inf, math.inf
    for event in stream(connection, fit_id, after="0"):
        clocks_apart = min(clocks_apart, time.time() - event.at.timestamp())  # and the quickest way of an event here
        if event.at.timestamp() + clocks_apart >= looked_at:
            looked_at = time.time()
            yield look(connection, fit_id)
    yield look(connection, fit_id)


def by_long_poll(
    connection: HttpConnection, fit_id: str, deadline: float, longest_seconds: float = LONG_POLL_SECONDS
) -> Iterator[Look]:
    """Long polling: the service responds when the fit has ended, or after some time."""
    while True:
        seconds = math.ceil(min(max(deadline - time.monotonic(), 0), longest_seconds))
        try:
            yield look(connection, fit_id, wait_seconds=seconds, patience_seconds=0)
        except (Unreachable, Unavailable) as error:
            raise WayClosed from error


def by_poll(connection: HttpConnection, fit_id: str, deadline: float) -> Iterator[Look]:
    """Polling at the pace of Retry-After."""
    while True:
        record, pause = look(connection, fit_id)
        yield record, pause
        time.sleep(max(0, min(pause, deadline - time.monotonic())))


def look(connection: HttpConnection, fit_id: str, wait_seconds: int = 0, patience_seconds: float | None = None) -> Look:
    """Request the fit; with `wait_seconds` the response comes when it has ended or that time has passed."""
    response = connection.send(
        "GET",
        f"/v1/fits/{fit_id}",
        headers={"Prefer": f"wait={wait_seconds}"} if wait_seconds else None,
        timeout=timeout(wait_seconds + 10),
        patience_seconds=patience_seconds,
    )
    return FitRecord.of(response.json()), retry_after(response) or 1.0


def stream(connection: HttpConnection, fit_id: str, after: str) -> Iterator[Event]:
    """Events from the stream, until the fit has ended. A broken stream is resumed."""
    barren = 0
    while barren < BARREN_STREAMS:
        barren += 1
        try:
            for event in open_stream(connection, fit_id, after):
                barren, after = 0, event.id
                yield event
        except httpx2.ReadTimeout as error:
            raise WayClosed from error
        except httpx2.TransportError:
            continue
        if not look(connection, fit_id)[0].is_active:
            yield from list_events(connection, fit_id, after)  # what happened between the stream's end and the look
            return
    raise WayClosed


def open_stream(connection: HttpConnection, fit_id: str, after: str) -> Iterator[Event]:
    """The events of one stream."""
    path, headers = f"/v1/fits/{fit_id}/events/stream", {"Last-Event-ID": after}
    try:
        with connection.stream(path, headers=headers, silence_seconds=SILENCE_SECONDS) as response:
            for event in httpx2.EventSource(response):
                yield Event.of(json.loads(event.data))
    except (httpx2.SSEError, ValueError) as error:
        raise WayClosed from error


def list_events(connection: HttpConnection, fit_id: str, after: str) -> Iterator[Event]:
    """The events so far, by polling."""
    while events := connection.get(f"/v1/fits/{fit_id}/events", after=after)["data"]:
        yield from map(Event.of, events)
        after = events[-1]["id"]
