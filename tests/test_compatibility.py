"""What version 0.1 has written is still opened: its store, its model files, and the hashes of datasets.

`tests/fixtures/v0_1/README.md` says what the fixtures hold. They hold for every later version: an active fit of another
version is planned again from its parameters and ends, everything else is carried over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.servers import redis_server, worker_process
from tests.service.api import Api, api_process

FIXTURES = Path(__file__).parent / "fixtures" / "v0_1"
WRITTEN: dict[str, Any] = json.loads((FIXTURES / "answers.json").read_text())
MODELS: list[dict[str, Any]] = json.loads((FIXTURES / "models" / "answers.json").read_text())
HASHES: list[dict[str, Any]] = json.loads((FIXTURES / "hashes.json").read_text())
ACTIVE: list[dict[str, Any]] = WRITTEN["active_fits"]
OTHER_VERSION: str = ACTIVE[0]["id"]  # this running fit is made one of another version before it is opened
QUICK: dict[str, Any] = {"lease_seconds": 1.5, "renew_seconds": 0.3, "sweep_seconds": 0.3}
WAIT = {"Prefer": "wait=60"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service of the present version on the store that 0.1 has left."""
    folder = tmp_path_factory.mktemp("compatibility")
    shutil.copytree(FIXTURES / "store", folder / "redis")
    with redis_server(folder / "redis") as server:
        # By the keys of 0.1, which the fixture has whatever the present ones are.
        place = f"melm:{{default}}:fit:{OTHER_VERSION}"
        server.client.hset(f"{place}:meta", "library_version", "0.0.1")
        for unit in server.client.hkeys(f"{place}:results"):
            server.client.hset(f"{place}:results", unit, b"a result that only that version understands")
        with (
            api_process(server.url, folder / "api.log", user_header="X-User", **QUICK) as api,
            worker_process(server.url, folder / "worker.log", worker_processes=2, **QUICK),
        ):
            yield api


def client_of(api: Api, tenant: str) -> httpx2.Client:
    client = api.client()
    client.headers["X-User"] = tenant
    return client


@pytest.fixture
def client(api: Api) -> Iterator[httpx2.Client]:
    with client_of(api, "default") as client:
        yield client


@pytest.fixture
def other_client(api: Api) -> Iterator[httpx2.Client]:
    """Of a tenant that 0.1 knew nothing of, for what is sent anew."""
    with client_of(api, "newcomer") as client:
        yield client


def written(noun: str, tenant: str = "default") -> list[dict[str, Any]]:
    """What 0.1 answered to a list of resources."""
    resources: list[dict[str, Any]] = WRITTEN["tenants"][tenant][f"/v1/{noun}"]
    return resources


def ended_fits(tenant: str = "default") -> list[dict[str, Any]]:
    return [fit for fit in written("fits", tenant) if fit["ended_at"] is not None]


def assert_says(answer: httpx2.Response, before: dict[str, Any]) -> None:
    """All that 0.1 said is still said; a later version may say more."""
    assert answer.status_code == 200, answer.text
    assert known_part(answer.json(), before) == before


def known_part(now: Any, before: Any) -> Any:
    """Of what is said now, what 0.1 knew to say."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {name: known_part(now.get(name), before[name]) for name in before}
    return now


def test_the_fixture_holds_what_it_should() -> None:
    """So that none of the tests below passes for want of something to look at."""
    assert {fit["status"] for fit in written("fits")} == {"queued", "running", "succeeded", "failed", "canceled"}
    assert {fit["status"] for fit in ACTIVE} == {"queued", "running"}
    assert {fit["tenant"] for fit in ACTIVE} == {"default", "ada"}
    assert {model["method"] for model in written("models")} == {"melm", "lda", "pca"}
    assert any(dataset["columns"] for dataset in written("datasets"))
    assert len(WRITTEN["gone"]) == 5
    assert {request["path"] for request in WRITTEN["requests"]} == {"/v1/datasets", "/v1/fits", "/v1/models"}


@pytest.mark.parametrize("tenant", ["default", "ada"])
def test_all_resources_are_there(api: Api, tenant: str) -> None:
    with client_of(api, tenant) as client:
        for noun, name in (("datasets", "id"), ("models", "id"), ("aliases", "alias")):
            for before in written(noun, tenant):
                assert_says(client.get(f"/v1/{noun}/{before[name]}"), before)
        for before in ended_fits(tenant):
            if before["status"] != "canceled":  # retried below
                assert_says(client.get(f"/v1/fits/{before['id']}"), before)


@pytest.mark.parametrize("noun", ["datasets", "fits", "models"])
def test_lists_have_them_in_the_same_order(client: httpx2.Client, noun: str) -> None:
    listed = [each["id"] for each in client.get(f"/v1/{noun}", params={"limit": 100}).json()["data"]]
    before = [each["id"] for each in written(noun)]
    assert [id for id in listed if id in before] == before


def test_events_are_kept(client: httpx2.Client) -> None:
    for fit in ended_fits():
        path = f"/v1/fits/{fit['id']}/events"
        before = WRITTEN["tenants"]["default"][path]
        assert client.get(path).json()["data"][: len(before)] == before


def assert_answers(client: httpx2.Client, model_id: str, model: dict[str, Any]) -> None:
    for path, before in model["answers"].items():
        now = client.post(f"/v1/models/{model_id}/{path}", json=model["rows"]).raise_for_status().json()
        for name in before.keys() - {"model_id", "warnings"}:  # a sentence may be worded better
            if name in ("Z", "probabilities"):
                for row, row_before in zip(now[name], before[name], strict=True):
                    assert row == pytest.approx(row_before, rel=1e-12, abs=1e-12)
            elif name == "log_density":
                assert now[name] == pytest.approx(before[name], rel=1e-12, abs=1e-12)
            else:
                assert now[name] == before[name]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: Path(model["file"] or "imported").stem)
def test_stored_models_answer_as_before(client: httpx2.Client, model: dict[str, Any]) -> None:
    assert_answers(client, model["model_id"], model)


@pytest.mark.parametrize("model", [each for each in MODELS if each["file"]], ids=lambda model: Path(model["file"]).stem)
def test_model_files_answer_as_before(other_client: httpx2.Client, model: dict[str, Any]) -> None:
    content = (FIXTURES / model["file"]).read_bytes()
    imported = other_client.post("/v1/models", content=content, headers={"Content-Type": "application/x-npz"})
    assert imported.status_code == 201, imported.text
    assert_answers(other_client, imported.json()["id"], model)


def test_the_stored_file_is_the_one_that_was_downloaded(client: httpx2.Client) -> None:
    for model in MODELS:
        if model["file"]:
            answer = client.get(f"/v1/models/{model['model_id']}/file", headers={"Accept": "application/x-npz"})
            assert answer.content == (FIXTURES / model["file"]).read_bytes()


@pytest.mark.parametrize("alias", written("aliases"), ids=lambda alias: str(alias["alias"]))
def test_aliases_resolve(client: httpx2.Client, alias: dict[str, Any]) -> None:
    (model,) = (each for each in MODELS if each["model_id"] == alias["model_id"])
    assert_answers(client, alias["alias"], model)
    named = {"model_id": alias["model_id"]}
    late = client.put(f"/v1/aliases/{alias['alias']}", json=named, headers={"If-Match": f'"{alias["version"] + 1}"'})
    assert late.status_code == 412
    assert client.delete(f"/v1/models/{alias['model_id']}").status_code == 409


@pytest.mark.parametrize("request_before", WRITTEN["requests"], ids=lambda request: str(request["key"]))
def test_idempotency_keys_replay(client: httpx2.Client, request_before: dict[str, Any]) -> None:
    def send(content: bytes) -> httpx2.Response:
        headers = {"Content-Type": request_before["content_type"], "Idempotency-Key": request_before["key"]}
        return client.post(request_before["path"], content=content, params=request_before["query"], headers=headers)

    content = (FIXTURES / request_before["body"]).read_bytes()
    replayed = send(content)
    assert replayed.is_success, replayed.text
    assert replayed.json()["id"] == request_before["id"]
    if request_before["content_type"] != "application/x-npz":
        assert send(content + b"\n").status_code == 422


@pytest.mark.parametrize(
    "gone", WRITTEN["gone"], ids=lambda gone: f"{gone['path'].split('/')[2]}-{gone['problem']['detail'].split()[-1]}"
)
def test_what_is_gone_is_known_to_be_gone(client: httpx2.Client, gone: dict[str, Any]) -> None:
    answer = client.get(gone["path"])
    assert answer.status_code == 410
    assert answer.json()["detail"] == gone["problem"]["detail"]


def carried_on(client: httpx2.Client, before: dict[str, Any]) -> None:
    """The fit ends with a model, from the parameters under which it was submitted."""
    fit = client.get(f"/v1/fits/{before['id']}", headers=WAIT).json()
    assert fit["status"] == "succeeded", fit["error"]
    for name in ("params", "validation", "method", "dataset_id", "dataset_hash", "name", "created_at"):
        assert fit[name] == before[name]
    assert fit["progress"]["starts_done"] == fit["progress"]["n_starts"] == before["progress"]["n_starts"]
    if best := before["progress"]["best_divergence"]:
        assert fit["progress"]["best_divergence"] >= best * (1 - 1e-6)
    model = client.get(f"/v1/models/{fit['model_id']}").json()
    assert (model["fit_id"], model["dataset_id"]) == (fit["id"], fit["dataset_id"])


@pytest.mark.parametrize(
    "active",
    [
        pytest.param(
            fit,
            id=f"{fit['tenant']}-{fit['status']}{'-other_version' * (fit['id'] == OTHER_VERSION)}",
        )
        for fit in ACTIVE
    ],
)
def test_active_fits_are_carried_to_their_end(api: Api, active: dict[str, str]) -> None:
    (before,) = (fit for fit in written("fits", active["tenant"]) if fit["id"] == active["id"])
    with client_of(api, active["tenant"]) as client:
        carried_on(client, before)


def test_a_canceled_fit_can_be_retried(client: httpx2.Client) -> None:
    (before,) = (fit for fit in written("fits") if fit["status"] == "canceled")
    assert client.post(f"/v1/fits/{before['id']}/retry").status_code == 202
    carried_on(client, before)


@pytest.mark.parametrize("dataset", written("datasets"), ids=lambda dataset: str(dataset["content_hash"][7:15]))
def test_datasets_can_be_fitted_anew(client: httpx2.Client, dataset: dict[str, Any]) -> None:
    """A worker reads them only if their values have the hash that 0.1 gave them."""
    body = {"dataset_id": dataset["id"], "method": "pca", "params": {"n_components": 1}, "validation": None}
    fit = client.post("/v1/fits", json={**body, "force": True}, headers=WAIT).json()
    assert fit["status"] == "succeeded", fit["error"]


def test_an_equal_fit_is_reused_by_the_same_version_only(client: httpx2.Client) -> None:
    (request,) = (each for each in WRITTEN["requests"] if each["path"] == "/v1/fits")
    fit = client.post("/v1/fits", json=json.loads((FIXTURES / request["body"]).read_text()), headers=WAIT).json()
    assert fit["status"] == "succeeded", fit["error"]
    assert fit["reused"] is (version("melm") == "0.1.0")
    assert (fit["id"] == request["id"]) is fit["reused"]


@pytest.mark.parametrize("golden", HASHES, ids=lambda golden: Path(golden["body"]).name)
def test_content_hashes_are_those_of_before(other_client: httpx2.Client, golden: dict[str, Any]) -> None:
    content, headers = (FIXTURES / golden["body"]).read_bytes(), {"Content-Type": golden["content_type"]}
    answer = other_client.post("/v1/datasets", content=content, params=golden["query"], headers=headers)
    assert answer.is_success, answer.text
    assert answer.json()["content_hash"] == golden["content_hash"]


def test_equal_content_of_another_media_type_is_found_in_the_store(client: httpx2.Client) -> None:
    golden = {Path(each["body"]).name: each for each in HASHES}
    in_parquet = golden["patients_in_Parquet.parquet"]
    content, headers = (FIXTURES / in_parquet["body"]).read_bytes(), {"Content-Type": in_parquet["content_type"]}
    answer = client.post("/v1/datasets", content=content, params=in_parquet["query"], headers=headers)
    assert answer.status_code == 200
    assert answer.json()["id"] in {dataset["id"] for dataset in written("datasets")}
