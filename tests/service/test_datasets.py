"""Datasets over HTTP."""

import uuid
from pathlib import Path

import httpx2
import numpy as np
import pytest

from melm.tables.content_hash import content_hash
from tests.servers import redis_server, wait_until
from tests.service import samples
from tests.service.api import api_process


def sample(seed: int) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], list[str]]:
    return np.random.default_rng(seed).normal(size=(10, 3)), ["a", "b"] * 5


def test_content_is_stored_once(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    body = {"X": X.tolist(), "y": y, "name": "mine", "metadata": {"from": "tests"}}
    first = client.post("/v1/datasets", json=body)
    assert first.status_code == 201
    assert first.json()["metadata"] == {"from": "tests"}
    assert first.json()["name"] == "mine"
    second = client.post("/v1/datasets", json=body)
    assert second.status_code == 200
    assert second.json()["id"] == first.json()["id"]
    npz = client.post(
        "/v1/datasets", content=samples.npz(X=X, y=np.array(y)), headers={"Content-Type": "application/x-npz"}
    )
    assert npz.json()["id"] == first.json()["id"]


def test_content_can_be_asked_for_before_it_is_sent(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    params = {"content_hash": content_hash(X, np.array(y))}
    assert client.get("/v1/datasets", params=params).json()["data"] == []
    created = client.post("/v1/datasets", json={"X": X.tolist(), "y": y}).json()
    assert created["content_hash"] == params["content_hash"]
    assert [each["id"] for each in client.get("/v1/datasets", params=params).json()["data"]] == [created["id"]]


def test_summary_and_list(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    X[:, 1] = 7
    created = client.post("/v1/datasets", json={"X": X.tolist(), "y": y}).json()
    assert created["n_rows"], created["n_features"] == (10, 3)
    assert created["constant_columns"] == [1]
    assert created["class_counts"] == [5, 5]
    assert "X" not in created
    assert client.get("/v1/datasets?limit=1").json()["data"][0]["id"] == created["id"]


def test_float32_stays(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    body = samples.npz(X=X.astype(np.float32), y=np.array(y))
    created = client.post("/v1/datasets", content=body, headers={"Content-Type": "application/x-npz"}).json()
    assert created["dtype"] == "float32"


def test_a_key_makes_one_dataset(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"X": X.tolist(), "y": y}
    first, second = (client.post("/v1/datasets", json=body, headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert client.post("/v1/datasets", json=body | {"name": "x"}, headers=headers).status_code == 422


def test_a_key_is_answered_again_as_it_was_the_first_time(client: httpx2.Client) -> None:
    X, y = sample(uuid.uuid4().int)
    body = {"X": X.tolist(), "y": y}
    created = client.post("/v1/datasets", json=body)
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    answers = [client.post("/v1/datasets", json=body, headers=headers) for _ in range(2)]
    assert [(each.status_code, each.json()["id"]) for each in answers] == [(200, created.json()["id"])] * 2


def test_expiry_leaves_a_tombstone(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as server,
        api_process(server.url, tmp_path / "api.log", dataset_lifetime_seconds=0.2, sweep_seconds=0.1) as api,
        api.client() as client,
    ):
        X, y = sample(0)
        created = client.post("/v1/datasets", json={"X": X.tolist(), "y": y}).json()
        assert created["expires_at"] > created["created_at"]
        wait_until(lambda: client.get(f"/v1/datasets/{created['id']}").status_code == 410)
        assert "expired" in client.get(f"/v1/datasets/{created['id']}").json()["detail"]


@pytest.mark.parametrize("part", ["blocks", "fits"])
def test_what_belongs_to_a_dataset_is_no_dataset(client: httpx2.Client, dataset_id: str, part: str) -> None:
    id = f"{dataset_id}:{part}"
    assert client.get(f"/v1/datasets/{id}").status_code == 404
    assert client.delete(f"/v1/datasets/{id}").status_code == 404
    assert client.post("/v1/fits", json={"dataset_id": id}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("datasets", r'{"X": [[1]], "y": [1], "\ud800": 1}'),
        ("datasets", r'{"rows": [{"\ud800": [1]}]}'),
        ("fits", r'{"dataset_id": "\uDC00"}'),
        ("fits", r'{"dataset_id": "ds_0", "name": "\ud800"}'),
    ],
)
def test_half_characters_are_refused(client: httpx2.Client, path: str, body: str) -> None:
    response = client.post(f"/v1/{path}", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert "surrogates not allowed" in response.json()["detail"]
    whole = client.post("/v1/datasets", content=r'{"\ud83d\ude00": NaN}', headers={"Content-Type": "application/json"})
    assert whole.json()["errors"][0]["pointer"] == "/\U0001f600"
