"""Fits over HTTP: every status, waiting, events, cancel, retry, reuse, idempotency."""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import numpy as np
import pytest

from service.routes.fits import event_stream
from tests.servers import RedisServer, redis_server, wait_until
from tests.service import samples
from tests.service.api import Api, api_process
from worker.engine import open_engine
from worker.store.errors import StoreUnavailable
from worker.store.records import DEFAULT_TENANT
from worker.store.settings import Settings

SLOW: dict[str, Any] = {"params": {"regularization": None, "n_starts": 2_000}, "validation": None, "force": True}


def events_of(client: httpx2.Client, fit_id: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = client.get(f"/v1/fits/{fit_id}/events").json()["data"]
    return events


@pytest.fixture
def slow_fit(client: httpx2.Client, large_dataset_id: str) -> Iterator[dict[str, Any]]:
    """A fit that runs, and would run for long; canceled in the end."""
    fit = client.post("/v1/fits", json={"dataset_id": large_dataset_id, **SLOW}).json()

    def first_start_done() -> bool:
        return any(event["type"] == "start_done" for event in events_of(client, fit["id"]))

    wait_until(first_start_done)
    yield fit
    client.post(f"/v1/fits/{fit['id']}/cancel")


class TestStatuses:
    def test_running_then_canceled_frees_the_worker(
        self, client: httpx2.Client, slow_fit: dict[str, Any], dataset_id: str
    ) -> None:
        running = client.get(f"/v1/fits/{slow_fit['id']}")
        assert running.json()["status"] == "running"
        assert 0 < running.json()["progress"]["starts_done"] < 2_000
        assert running.json()["progress"]["eta_seconds"] > 0
        assert int(running.headers["Retry-After"]) >= 1

        canceled = client.post(f"/v1/fits/{slow_fit['id']}/cancel")
        assert canceled.status_code == 202
        began_at = time.monotonic()
        ended = samples.wait(client, slow_fit["id"])
        assert ended["status"] == "canceled"
        quick = samples.fit(client, {"dataset_id": dataset_id, "method": "pca", "validation": None, "force": True})
        assert quick["status"] == "succeeded"
        assert time.monotonic() - began_at < 2
        assert client.post(f"/v1/fits/{slow_fit['id']}/cancel").status_code == 200

    def test_keep_best_gives_a_usable_model(self, client: httpx2.Client, slow_fit: dict[str, Any]) -> None:
        assert client.post(f"/v1/fits/{slow_fit['id']}/cancel?keep_best=true").status_code == 202
        ended = samples.wait(client, slow_fit["id"])
        assert ended["status"] == "succeeded", ended["error"]
        rows = {"X": np.zeros((2, 20)).tolist()}
        assert len(client.post(f"/v1/models/{ended['model_id']}/predict", json=rows).json()["predictions"]) == 2

    def test_retry_goes_on_from_what_was_done(self, client: httpx2.Client, slow_fit: dict[str, Any]) -> None:
        client.post(f"/v1/fits/{slow_fit['id']}/cancel")
        canceled = samples.wait(client, slow_fit["id"])
        done = canceled["progress"]["starts_done"]
        assert done > 0
        retried = client.post(f"/v1/fits/{slow_fit['id']}/retry")
        assert retried.status_code == 202
        assert retried.json()["progress"]["starts_done"] >= done
        assert retried.json()["attempts"] == 2
        again = client.post(f"/v1/fits/{slow_fit['id']}/retry")
        assert again.status_code == 409

    def test_failed_with_a_readable_reason(self, client: httpx2.Client) -> None:
        column = np.arange(20.0)
        data = {"X": np.column_stack([column, column]).tolist(), "y": [0, 1] * 10}
        fit = samples.fit(client, {"data": data, "params": {"regularization": None, "n_starts": 2}, "validation": None})
        assert fit["status"] == "failed"
        assert "n_components=2" in fit["error"]["message"]
        assert fit["model_id"] is None

    def test_queued_without_a_worker_says_so(self, tmp_path: Path) -> None:
        with (
            redis_server(tmp_path / "redis") as server,
            api_process(server.url, tmp_path / "api.log", max_queued_fits=1) as api,
            api.client() as client,
        ):
            body = {"data": {"X": [[0.0], [1], [2], [3]], "y": [0, 0, 1, 1]}, "params": {"n_components": 1}}
            queued = client.post("/v1/fits", json=body, headers={"Prefer": "wait=1"})
            assert queued.status_code == 202
            assert queued.json()["status"] == "queued"
            assert queued.json()["status_detail"] == "waiting: no worker is alive"
            assert client.get("/readyz").status_code == 200
            assert client.get("/readyz?for=fits").status_code == 503
            refused = client.post("/v1/fits", json=body | {"force": True})
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) > 0
            dataset = client.delete(f"/v1/datasets/{queued.json()['dataset_id']}")
            assert dataset.status_code == 409
            canceled = client.post(f"/v1/fits/{queued.json()['id']}/cancel")
            assert canceled.json()["status"] == "canceled"
            assert client.delete(f"/v1/datasets/{queued.json()['dataset_id']}").status_code == 204
            assert client.get(f"/v1/datasets/{queued.json()['dataset_id']}").status_code == 410

    def test_time_budget_ends_early_with_a_model(self, client: httpx2.Client, large_dataset_id: str) -> None:
        params = {"regularization": None, "n_starts": 2_000, "time_budget_seconds": 1.5}
        fit = samples.fit(client, {"dataset_id": large_dataset_id, "params": params, "validation": None})
        assert fit["status"] == "succeeded", fit["error"]
        assert 0 < fit["progress"]["starts_done"] < 2_000


class TestModelBeforeEvidence:
    """A fit whose evidence takes long, on the worker of all tests."""

    @pytest.fixture
    def judged_fit(self, client: httpx2.Client, dataset_id: str) -> Iterator[dict[str, Any]]:
        validation = {"folds": 5, "permutations": 300}
        body = {
            "dataset_id": dataset_id,
            "params": {"regularization": None, "n_starts": 2},
            "validation": validation,
            "force": True,
        }
        created = client.post("/v1/fits?until=model", json=body, headers={"Prefer": "wait=30"})
        assert created.status_code == 202
        yield created.json()
        client.post(f"/v1/fits/{created.json()['id']}/cancel")

    def test_the_model_serves_while_the_fit_runs_and_changes_once(
        self, client: httpx2.Client, judged_fit: dict[str, Any]
    ) -> None:
        assert (judged_fit["status"], judged_fit["progress"]["phase"]) == ("running", "evidence")
        waited = client.get(f"/v1/fits/{judged_fit['id']}?until=model", headers={"Prefer": "wait=30"})
        assert waited.json()["status"] == "running"
        place = f"/v1/models/{judged_fit['model_id']}"
        before = client.get(place)
        card = before.json()["card"]
        assert card["missing_evidence"] == ["validation", "permutation_test"]
        assert (card["validation"], card["verdict"]["level"]) == (None, "unknown")
        file = client.get(f"{place}/file")
        rows = {"X": samples.irises()["X"]}
        predicted = client.post(f"{place}/predict_proba", json=rows).json()
        client.post(f"/v1/fits/{judged_fit['id']}/cancel?keep_best=true")
        ended = samples.wait(client, judged_fit["id"])
        assert (ended["status"], ended["progress"]["share_done"]) == ("succeeded", 1)
        after = client.get(place, headers={"If-None-Match": before.headers["ETag"]})
        assert after.status_code == 200
        assert not after.headers["ETag"].startswith("W/")
        assert client.get(place, headers={"If-None-Match": after.headers["ETag"]}).status_code == 304
        changed = client.get(f"{place}/file", headers={"If-None-Match": file.headers["ETag"]})
        assert changed.status_code == 200
        assert changed.content != file.content
        assert client.post(f"{place}/predict_proba", json=rows).json() == predicted
        types = [event["type"] for event in events_of(client, judged_fit["id"])]
        assert types.count("model") == 1

    def test_canceled_it_keeps_its_model(self, client: httpx2.Client, judged_fit: dict[str, Any]) -> None:
        client.post(f"/v1/fits/{judged_fit['id']}/cancel")
        ended = samples.wait(client, judged_fit["id"])
        assert (ended["status"], ended["model_id"]) == ("canceled", judged_fit["model_id"])
        card = client.get(f"/v1/models/{judged_fit['model_id']}").json()["card"]
        assert card["missing_evidence"] == ["validation", "permutation_test"]

    def test_deleting_the_model_cancels_the_rest(self, client: httpx2.Client, judged_fit: dict[str, Any]) -> None:
        assert client.delete(f"/v1/models/{judged_fit['model_id']}").status_code == 204
        assert client.get(f"/v1/fits/{judged_fit['id']}").json()["status"] == "canceled"
        assert client.get(f"/v1/models/{judged_fit['model_id']}").status_code == 410

    def test_the_best_start_so_far_can_be_seen(
        self, client: httpx2.Client, slow_fit: dict[str, Any], large_dataset_id: str
    ) -> None:
        answer = client.get(f"/v1/fits/{slow_fit['id']}/preview")
        assert answer.status_code == 200
        preview = answer.json()
        n_rows = client.get(f"/v1/datasets/{large_dataset_id}").json()["n_rows"]
        assert len(preview["Z"]) == len(preview["codes"]) == len(preview["rows"]) == min(n_rows, 2_000)
        assert preview["n_judged_rows"] == n_rows
        assert max(preview["codes"]) < len(preview["classes"])
        assert max(preview["rows"]) == n_rows - 1
        client.post(f"/v1/fits/{slow_fit['id']}/cancel")
        gone = client.get(f"/v1/fits/{slow_fit['id']}/preview")
        assert (gone.status_code, gone.content) == (204, b"")
        assert client.get("/v1/fits/fit_none/preview").status_code == 404


class TestWaiting:
    def test_an_impatient_client_gets_the_fit_as_it_stands(
        self, client: httpx2.Client, slow_fit: dict[str, Any]
    ) -> None:
        began_at = time.monotonic()
        waited = client.get(f"/v1/fits/{slow_fit['id']}", headers={"Prefer": "wait=1"})
        assert time.monotonic() - began_at >= 1
        assert waited.json()["status"] == "running"

    def test_waiting_and_streaming_clients_leave_the_service_responsive(
        self, client: httpx2.Client, slow_fit: dict[str, Any], model_id: str, api: Api
    ) -> None:
        def wait_for_it(index: int) -> str:
            with api.client() as waiting:
                if index % 2:
                    return str(samples.wait(waiting, slow_fit["id"])["status"])
                with waiting.stream("GET", f"/v1/fits/{slow_fit['id']}/events/stream") as stream:
                    last = [line for line in stream.iter_lines() if line.startswith("event:")][-1]
                return last.removeprefix("event: ")

        with ThreadPoolExecutor(60) as pool:
            waiting = [pool.submit(wait_for_it, index) for index in range(60)]
            seconds = []
            try:
                for _ in range(30):
                    began_at = time.monotonic()
                    assert client.get("/healthz").status_code == 200
                    rows = {"X": samples.irises()["X"][:1]}
                    assert client.post(f"/v1/models/{model_id}/predict", json=rows).status_code == 200
                    seconds.append(time.monotonic() - began_at)
                assert [each.result() for each in waiting if each.done()] == []
            finally:
                client.post(f"/v1/fits/{slow_fit['id']}/cancel")
            assert {each.result() for each in waiting} == {"canceled"}
        assert np.median(seconds) < 0.25


class TestEvents:
    def test_page_and_stream_tell_the_same(self, client: httpx2.Client, dataset_id: str) -> None:
        ask = {
            "dataset_id": dataset_id,
            "params": {"regularization": None, "n_starts": 3},
            "validation": None,
            "force": True,
        }
        fit = samples.fit(client, ask)
        events = events_of(client, fit["id"])
        types = [event["type"] for event in events]
        assert types[:2] == ["queued", "started"]
        assert types[-1] == "succeeded", fit["error"]
        assert {"start_done", "best"} <= set(types)
        with client.stream("GET", f"/v1/fits/{fit['id']}/events/stream") as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            lines = list(stream.iter_lines())
        data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        assert data == events

    def test_stream_resumes_after_the_last_event_seen(self, client: httpx2.Client, dataset_id: str) -> None:
        fit = samples.fit(
            client, {"dataset_id": dataset_id, "params": {"regularization": None, "n_starts": 3}, "validation": None}
        )
        events = events_of(client, fit["id"])
        headers = {"Last-Event-ID": events[2]["id"]}
        with client.stream("GET", f"/v1/fits/{fit['id']}/events/stream", headers=headers) as stream:
            ids = [line.removeprefix("id: ") for line in stream.iter_lines() if line.startswith("id: ")]
        assert ids == [event["id"] for event in events[3:]]
        page = client.get(f"/v1/fits/{fit['id']}/events", params={"after": events[2]["id"], "limit": 1}).json()
        assert page["data"] == [events[3]]
        assert page["next_cursor"] == events[3]["id"]


class TestReuse:
    def test_an_equal_fit_is_answered_at_once(self, client: httpx2.Client, dataset_id: str) -> None:
        ask = {
            "dataset_id": dataset_id,
            "params": {"regularization": None, "n_starts": 2, "seed": 11},
            "validation": None,
        }
        first = samples.fit(client, ask)
        again = client.post("/v1/fits", json=ask)
        assert again.status_code == 200
        assert again.json()["reused"]
        assert again.json()["id"] == first["id"]
        forced = client.post("/v1/fits", json=ask | {"force": True})
        assert forced.json()["id"] != first["id"]

    def test_rows_in_the_body_find_their_dataset(self, client: httpx2.Client, dataset_id: str) -> None:
        data = {key: value for key, value in samples.irises().items() if key != "name"}
        fit = samples.fit(client, {"data": data, "method": "pca", "validation": None})
        assert fit["dataset_id"] == dataset_id


class TestIdempotency:
    def test_same_key_same_fit(self, client: httpx2.Client, dataset_id: str) -> None:
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        ask = {"dataset_id": dataset_id, "method": "pca", "validation": None, "force": True}
        first = client.post("/v1/fits", json=ask, headers=headers)
        again = client.post("/v1/fits", json=ask, headers=headers)
        assert first.json()["id"] == again.json()["id"]
        other = client.post("/v1/fits", json=ask | {"name": "other"}, headers=headers)
        assert other.status_code == 422
        assert other.headers["Content-Type"] == "application/problem+json"

    def test_same_key_while_in_flight(self, client: httpx2.Client, server: RedisServer) -> None:
        key = uuid.uuid4().hex
        body = json.dumps({"X": [[0], [1], [2], [3]], "y": [0, 0, 1, 1]}).encode()
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        first = client.post("/v1/datasets", content=body, headers=headers)
        store = open_engine(Settings(redis_url=server.url))
        name = f"melm:{{{DEFAULT_TENANT}}}:idempotency:{key}"
        assert store.connection.call("HDEL", name, "id") == 1  # as if the first request were still being answered
        assert client.post("/v1/datasets", content=body, headers=headers).status_code == 409
        store.connection.call("DEL", name)
        again = client.post("/v1/datasets", content=body, headers=headers)
        assert again.json()["id"] == first.json()["id"]
        store.close()


class TestList:
    def test_pages_and_filters(self, client: httpx2.Client, dataset_id: str) -> None:
        name = uuid.uuid4().hex
        ask = {"dataset_id": dataset_id, "method": "pca", "validation": None, "force": True, "name": name}
        ids = [samples.fit(client, ask)["id"] for _ in range(3)]
        seen: list[str] = []
        params: dict[str, str | int] = {"name": name, "limit": 2}
        while params.get("cursor", "") is not None:
            page = client.get("/v1/fits", params=params).json()
            seen += [fit["id"] for fit in page["data"]]
            params["cursor"] = page["next_cursor"]
        assert seen == ids[::-1]
        assert client.get("/v1/fits", params={"name": name, "status": "failed"}).json()["data"] == []


def test_200_small_fits_at_once_all_end_once(api: Api, dataset_id: str) -> None:
    name = uuid.uuid4().hex

    def submit(seed: int) -> str:
        with api.client() as client:
            body = {"dataset_id": dataset_id, "method": "pca", "params": {"seed": seed}, "validation": None}
            response = client.post("/v1/fits", json=body | {"name": name, "force": True})
        assert response.status_code == 202, response.text
        return str(response.json()["id"])

    with ThreadPoolExecutor(16) as pool, api.client() as client:
        submitted = [pool.submit(submit, seed) for seed in range(200)]
        while not all(each.done() for each in submitted):
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").status_code == 200
        ids = [each.result() for each in submitted]
        assert len(set(ids)) == 200
        for fit_id in ids:
            fit = samples.wait(client, fit_id)
            assert fit["status"] == "succeeded", fit["error"]
            types = [event["type"] for event in events_of(client, fit_id)]
            assert types.count("succeeded") == 1


def test_a_silent_stream_beats() -> None:
    """Where nothing happens, a comment comes; where the store goes away, the stream ends without a word."""

    class Watch:
        n_looks = 0

        async def fit(self, tenant: str, fit_id: str) -> Any:
            return SimpleNamespace(is_active=True)

        async def next_events(self, tenant: str, fit_id: str, *, after: str, timeout_seconds: float) -> list[Any]:
            assert timeout_seconds == 15
            self.n_looks += 1
            if self.n_looks > 2:
                raise StoreUnavailable("away")
            return []

    async def read() -> list[str]:
        context: Any = SimpleNamespace(watch=Watch())
        return [text async for text in event_stream(context, "acme", "fit_1", "0")]

    assert asyncio.run(read()) == [": nothing new\n\n"] * 2


def test_what_a_fit_costs_is_said_before_it_starts(client: httpx2.Client, dataset_id: str) -> None:
    validation = {"folds": 3, "repeats": 2, "permutations": 4, "bootstraps": 5}
    body: dict[str, Any] = {"dataset_id": dataset_id, "method": "pca", "validation": validation}
    assert client.post("/v1/fits", json=body).json()["n_fits"] == 7 * 5 + 5
    assert client.post("/v1/fits", json=body | {"validation": None}).json()["n_fits"] == 1


def test_event_ids_of_other_digits_are_refused(client: httpx2.Client) -> None:
    response = client.get("/v1/fits/fit_0/events", params={"after": "\u0663"})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/query/after"


def test_more_work_than_a_fit_may_ask_for_is_refused_at_once(client: httpx2.Client, dataset_id: str) -> None:
    """Each number is allowed by itself; their product would be 2e11 units."""
    validation = {"folds": 20, "repeats": 20, "permutations": 1000, "bootstraps": 1000}
    params = {"regularization": None, "n_starts": 1000, "gamma": [0.1 * i for i in range(1, 100)]}
    answer = client.post("/v1/fits", json={"dataset_id": dataset_id, "params": params, "validation": validation})
    assert answer.status_code == 422
    assert "units of work, more than the limit of 20,000" in answer.json()["errors"][0]["detail"]


def test_the_usual_fit_with_a_hundred_permutations_is_taken(client: httpx2.Client, dataset_id: str) -> None:
    body = {"dataset_id": dataset_id, "params": {"seed": 77}, "validation": {"permutations": 100}}
    answer = client.post("/v1/fits", json=body)
    assert answer.status_code == 202
    client.post(f"/v1/fits/{answer.json()['id']}/cancel")


class TestPermutedLabels:
    def test_a_decoy_is_marked_and_in_no_list(self, client: httpx2.Client, dataset_id: str) -> None:
        asked = {"dataset_id": dataset_id, "method": "lda", "validation": None, "name": f"decoy {uuid.uuid4().hex}"}
        decoy = samples.fit(client, {**asked, "permute_labels": 7})
        real = samples.fit(client, {**asked, "force": True})
        assert (decoy["permute_labels"], real["permute_labels"]) == (7, None)
        listed = [
            fit["id"] for path in ("", f"&name={asked['name']}", "&status=succeeded") for fit in fits(client, path)
        ]
        assert decoy["id"] not in listed
        assert listed.count(real["id"]) == 3
        models = {model["id"] for model in client.get("/v1/models?limit=100").json()["data"]}
        assert real["model_id"] in models
        assert decoy["model_id"] not in models
        card = client.get(f"/v1/models/{decoy['model_id']}").json()
        assert card["card"]["permute_labels"] == 7
        assert card["expires_at"] is not None
        assert card["card"]["in_sample"]["leave_one_out_balanced_accuracy"] < 0.6

    def test_each_seed_has_its_own_fit(self, client: httpx2.Client, dataset_id: str) -> None:
        asked = {"dataset_id": dataset_id, "method": "lda", "validation": None}
        first, second = (samples.fit(client, {**asked, "permute_labels": seed}) for seed in (1, 2))
        assert first["id"] != second["id"]
        assert samples.fit(client, {**asked, "permute_labels": 1})["id"] == first["id"]


def fits(client: httpx2.Client, filtered: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/v1/fits?limit=100{filtered}").json()["data"]
    return found
