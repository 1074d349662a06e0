"""Asking again: when, how often, and under one key."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path

import pytest

from melm.remote import (
    Client,
    Conflict,
    Dataset,
    Invalid,
    NotFound,
    RemoteError,
    ResponseError,
    Unavailable,
    Unreachable,
)
from melm.remote import errors as errors_module
from melm.remote.table_body import PIECE_BYTES
from tests.melm.remote.scripted import Asked, Said, fit_document, in_turn, scripted_service

SOON = {"Retry-After": "0"}
ACCEPTED = Said(202, fit_document("queued"))


@pytest.mark.parametrize(
    "refusal",
    [
        Said(408),
        Said(409, {"detail": "still in flight"}, SOON),
        Said(429, headers=SOON),
        Said(500),
        Said(502, text="<html>"),
        Said(503, headers=SOON),
        Said(504),
        Said(broken=True),
    ],
    ids=lambda said: "broken" if said.broken else str(said.status),
)
def test_asks_again_under_one_key_so_that_a_fit_is_made_once(refusal: Said) -> None:
    with scripted_service(in_turn(refusal, refusal, ACCEPTED)) as service, Client(service.url) as client:
        assert client.fits.submit("ds_1").id == "fit_1"
    assert len(service.asked) == 3
    assert len({asked.headers["Idempotency-Key"] for asked in service.asked}) == 1
    assert len({asked.body for asked in service.asked}) == 1


@pytest.mark.parametrize("refusal", [Said(503, headers=SOON), Said(broken=True)], ids=["refused", "broken"])
def test_a_file_that_is_sent_again_is_sent_from_the_beginning(refusal: Said, tmp_path: Path) -> None:
    content = b"a,y\n" + b"1,u\n" * PIECE_BYTES  # several pieces
    (tmp_path / "table.csv").write_bytes(content)
    document = dict.fromkeys((each.name for each in fields(Dataset)), None) | {"id": "ds_1"}
    with scripted_service(in_turn(refusal, Said(201, document))) as service, Client(service.url) as client:
        assert client.datasets.upload_file(tmp_path / "table.csv", target="y").id == "ds_1"
    assert [asked.body == content for asked in service.asked] == [True, True]
    assert {asked.headers["Content-Type"] for asked in service.asked} == {"text/csv"}


def test_two_calls_have_two_keys() -> None:
    with scripted_service(lambda asked: ACCEPTED) as service, Client(service.url) as client:
        client.fits.submit("ds_1")
        client.fits.submit("ds_1")
    assert len({asked.headers["Idempotency-Key"] for asked in service.asked}) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 406, 409, 410, 412, 413, 415, 422])
def test_what_asking_again_cannot_mend_is_an_error_at_once(status: int) -> None:
    document = {
        "title": "No",
        "detail": "because",
        "request_id": "req_1",
        "errors": [{"pointer": "/params", "detail": "too many", "fix": "ask for fewer"}],
    }
    with (
        scripted_service(lambda asked: Said(status, document)) as service,
        Client(service.url) as client,
        pytest.raises(ResponseError) as caught,
    ):
        client.fits.submit("ds_1")
    assert len(service.asked) == 1
    problem = caught.value
    assert type(problem) is ResponseError.kinds.get(status, ResponseError)
    assert (problem.status, problem.detail, problem.request_id) == (status, "because", "req_1")
    assert str(problem) == "too many (ask for fewer)"


def test_waits_as_long_as_the_service_asks_for() -> None:
    with scripted_service(in_turn(Said(503, headers={"Retry-After": "1"}), ACCEPTED)) as service:
        began_at = time.monotonic()
        with Client(service.url) as client:
            client.fits.submit("ds_1")
    assert time.monotonic() - began_at >= 1


def test_an_internal_error_is_not_asked_for_ever() -> None:
    with (
        scripted_service(lambda asked: Said(500, {"detail": "its log says why"})) as service,
        Client(service.url) as client,
        pytest.raises(Unavailable, match="its log says why"),
    ):
        client.fits.submit("ds_1")
    assert len(service.asked) == 3


def test_patience_ends() -> None:
    with (
        scripted_service(lambda asked: Said(503, headers=SOON)) as service,
        Client(service.url, patience_seconds=0.2) as client,
        pytest.raises(Unavailable),
    ):
        client.fits.submit("ds_1")
    assert len(service.asked) > 3


def test_a_wrong_address_is_said_soon() -> None:
    began_at = time.monotonic()
    with Client("http://127.0.0.1:1") as client, pytest.raises(Unreachable, match="does not answer"):
        next(iter(client.models))
    assert time.monotonic() - began_at < 10


def test_the_key_goes_along_as_a_bearer_and_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(asked: Asked) -> Said:
        return Said(200, {"data": [], "next_cursor": None})

    with scripted_service(tell) as service:
        with Client(service.url, "given") as client:
            list(client.fits)
        monkeypatch.setenv("MELM_API_KEY", "in the environment")
        with Client(service.url) as client:
            list(client.fits)
    keys = [asked.headers["Authorization"] for asked in service.asked]
    assert keys == ["Bearer given", "Bearer in the environment"]


def test_iterators_hide_the_pages() -> None:
    def page(asked: Asked) -> Said:
        last = "cursor=2" in asked.path
        return Said(200, {"data": [fit_document(id=f"fit_{last}")], "next_cursor": None if last else "2"})

    with scripted_service(page) as service, Client(service.url) as client:
        assert [fit.id for fit in client.fits.list(status="running")] == ["fit_False", "fit_True"]
    assert all("status=running" in asked.path for asked in service.asked)


def test_a_path_before_the_interface_is_kept() -> None:
    with scripted_service(lambda asked: ACCEPTED) as service, Client(f"{service.url}/melm/") as client:
        client.fits.attach("fit_1")
    assert service.asked[0].path == "/melm/v1/fits/fit_1"


def test_the_tree_of_errors_is_the_one_in_the_docstring() -> None:
    drawn = {line.split("─ ")[-1].split(" ")[0] for line in (errors_module.__doc__ or "").splitlines() if "──" in line}
    kinds = {
        kind.__name__
        for kind in vars(errors_module).values()
        if isinstance(kind, type) and issubclass(kind, RemoteError | KeyboardInterrupt | UserWarning)
    }
    assert drawn == kinds


def test_problems_are_the_builtin_errors_that_callers_expect() -> None:
    assert issubclass(Invalid, ValueError)
    assert issubclass(NotFound, LookupError)
    assert issubclass(Unreachable, ConnectionError)
    assert not issubclass(Conflict, ValueError)
