"""Every way of following a fit, and how one leads to the next."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from melm.remote import Client, TimedOut
from tests.melm.remote.scripted import Asked, Said, fit_document, scripted_service

RUNNING = Said(200, fit_document(), {"Retry-After": "0.05"})
ENDED = Said(200, fit_document("succeeded"))
EVENT_STREAM = {"Content-Type": "text/event-stream"}


def event(number: int, kind: str, at: datetime = datetime(2026, 11, 18, tzinfo=UTC)) -> str:
    data = {"id": f"{number}-0", "type": kind, "at": at.isoformat(), "data": {}}
    return f"id: {number}-0\nevent: {kind}\ndata: {json.dumps(data)}\n\n"


class Service:
    """A fit that ends after some looks, and things in between that close ways."""

    def __init__(self, looks: int, *, stream: Said | None = None, long_poll: Said | None = None) -> None:
        self.looks = looks
        self.stream = stream
        self.long_poll = long_poll
        self.ways: list[str] = []

    def __call__(self, asked: Asked) -> Said:
        if asked.path.startswith("/v1/fits/fit_1/events?"):
            self.ways.append("events")
            rest = [number for number in (1, 2, 3) if f"after={number}-0" not in asked.path]
            known = int(asked.path.split("after=")[1].split("-")[0].split("&")[0])
            kinds = ["queued", "started", "succeeded"]
            data = [
                {"id": f"{number}-0", "type": kinds[number - 1], "at": "2026-11-18T00:00:00Z", "data": {}}
                for number in rest
                if number > known
            ]
            return Said(200, {"data": data, "next_cursor": "3-0"})
        if asked.path.endswith("/events/stream"):
            self.ways.append("stream")
            return self.stream or Said(404)
        if "Prefer" in asked.headers:
            self.ways.append("long poll")
            if self.long_poll is not None:
                return self.long_poll
        else:
            self.ways.append("poll")
        self.looks -= 1
        return RUNNING if self.looks > 0 else ENDED


def test_a_stream_is_followed_first() -> None:
    answer = Service(2, stream=Said(200, headers=EVENT_STREAM, text=event(1, "queued") + event(2, "succeeded")))
    with scripted_service(answer) as service, Client(service.url) as client:
        fit = client.fits.attach("fit_1")
        assert fit.wait().id == "mdl_1"
    assert answer.ways[:2] == ["poll", "stream"]
    assert "long poll" not in answer.ways


def test_events_that_come_late_are_not_looked_after_one_by_one() -> None:
    """A look that takes longer than events take to come sees them all."""
    began_at = datetime.now(UTC)
    looks = 0

    def answer(asked: Asked) -> Said:
        nonlocal looks
        if asked.path.endswith("/events/stream"):
            times = [began_at + timedelta(milliseconds=number) for number in range(100)]
            return Said(
                200, headers=EVENT_STREAM, text="".join(event(n, "start_done", at) for n, at in enumerate(times, 1))
            )
        if "/events?" in asked.path:
            return Said(200, {"data": [], "next_cursor": "0"})
        looks += 1
        time.sleep(0.2)
        return RUNNING if looks < 3 else ENDED

    with scripted_service(answer) as service, Client(service.url) as client:
        assert client.fits.attach("fit_1").wait().id == "mdl_1"
    assert looks < 10


@pytest.mark.parametrize(
    "stream",
    [
        Said(200, text="<html>a proxy's page</html>"),
        Said(200, headers=EVENT_STREAM, text=""),
        Said(200, headers=EVENT_STREAM, text="data: not JSON\n\n"),
    ],
    ids=["not a stream", "cut", "garbled"],
)
def test_a_stream_that_does_not_come_through_leads_to_long_polls(stream: Said) -> None:
    answer = Service(6, stream=stream)
    with scripted_service(answer) as service, Client(service.url) as client:
        assert client.fits.attach("fit_1").wait().id == "mdl_1"
    assert answer.ways[-1] == "long poll"


def test_long_polls_that_do_not_come_through_lead_to_polls_at_the_services_pace() -> None:
    answer = Service(4, stream=Said(200, text=""), long_poll=Said(504, text="<html>"))
    with scripted_service(answer) as service, Client(service.url) as client:
        assert client.fits.attach("fit_1").wait().id == "mdl_1"
    assert answer.ways == ["poll", "stream", "long poll", "poll", "poll", "poll"]


def test_polls_are_as_far_apart_as_the_service_asks_for() -> None:
    looked_at: list[float] = []

    def answer(asked: Asked) -> Said:
        if asked.path.endswith("/events/stream"):
            return Said(200, text="")
        if "Prefer" in asked.headers:
            return Said(504)
        looked_at.append(time.monotonic())
        return Said(200, fit_document(), {"Retry-After": "0.3"}) if len(looked_at) < 4 else ENDED

    with scripted_service(answer) as service, Client(service.url) as client:
        client.fits.attach("fit_1").wait()
    _, *polls = looked_at  # the first look is that of attach
    assert all(later - earlier >= 0.3 for earlier, later in pairwise(polls))


def test_a_stream_resumes_after_the_last_event_seen() -> None:
    seen: list[str] = []

    def answer(asked: Asked) -> Said:
        if not asked.path.endswith("/events/stream"):
            if "/events?" in asked.path:
                return Said(200, {"data": [], "next_cursor": "2-0"})
            return RUNNING if len(seen) < 2 else ENDED
        seen.append(asked.headers["Last-Event-ID"])
        return Said(200, headers=EVENT_STREAM, text=event(len(seen), "start_done"))

    with scripted_service(answer) as service, Client(service.url) as client:
        events = list(client.fits.attach("fit_1").events())
    assert [each.id for each in events] == ["1-0", "2-0"]
    assert seen == ["0", "1-0"]


def test_events_come_by_pages_where_streams_do_not_come_through() -> None:
    answer = Service(3, stream=Said(200, text=""))
    with scripted_service(answer) as service, Client(service.url) as client:
        events = list(client.fits.attach("fit_1").events(after="1-0"))
    assert [each.type for each in events] == ["started", "succeeded"]


def test_a_wait_has_its_own_limit_and_the_fit_goes_on() -> None:
    with scripted_service(lambda asked: RUNNING) as service, Client(service.url) as client:
        began_at = time.monotonic()
        with pytest.raises(TimedOut, match="it goes on"):
            client.fits.attach("fit_1").wait(timeout_seconds=0.2)
    assert time.monotonic() - began_at < 5
