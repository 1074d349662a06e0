"""Models over HTTP: the card, the file, import, schema, aliases, plots."""

import io
import json
import math
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import httpx2
import numpy as np
import onnxruntime
import pytest

from tests.service import samples
from tests.service.api import Api

NPZ = {"Content-Type": "application/x-npz"}


def test_card_with_etag(client: httpx2.Client, model_id: str) -> None:
    response = client.get(f"/v1/models/{model_id}")
    etag = response.headers["ETag"]
    assert not etag.startswith("W/")
    unchanged = client.get(f"/v1/models/{model_id}", headers={"If-None-Match": etag})
    assert unchanged.status_code == 304
    assert unchanged.content == b""
    assert client.get(f"/v1/models/{model_id}", headers={"If-None-Match": '"other"'}).status_code == 200


def test_list_is_paged_and_without_cards(client: httpx2.Client, model_id: str) -> None:
    seen: list[str] = []
    params: dict[str, str | int] = {"limit": 100}
    while params.get("cursor", "") is not None:
        page = client.get("/v1/models", params=params).json()
        assert not any("card" in model for model in page["data"])
        seen += [model["id"] for model in page["data"]]
        params["cursor"] = page["next_cursor"]
    assert model_id in seen
    assert seen == sorted(seen, reverse=True)


def test_file_travels(client: httpx2.Client, model_id: str) -> None:
    file = client.get(f"/v1/models/{model_id}/file")
    assert file.headers["Content-Type"] == "application/x-npz"
    assert file.headers["Content-Disposition"] == f'attachment; filename="{model_id}.npz"'
    imported = client.post("/v1/models?name=traveler", content=file.content, headers=NPZ)
    assert imported.status_code == 201
    assert imported.headers["Location"].endswith(imported.json()["id"])
    assert imported.json()["digest"] == client.get(f"/v1/models/{model_id}").json()["digest"]
    assert imported.json()["name"] == "traveler"
    rows = {"X": samples.irises()["X"]}
    answers = [client.post(f"/v1/models/{each}/predict_proba", json=rows) for each in (model_id, imported.json()["id"])]
    assert answers[0].json()["probabilities"] == answers[1].json()["probabilities"]
    again = client.get(f"/v1/models/{imported.json()['id']}/file").content
    assert again == file.content


def test_import_is_idempotent_by_key(client: httpx2.Client, model_id: str) -> None:
    file = client.get(f"/v1/models/{model_id}/file").content
    headers = NPZ | {"Idempotency-Key": uuid.uuid4().hex}
    ids = {client.post("/v1/models", content=file, headers=headers).json()["id"] for _ in range(2)}
    assert len(ids) == 1


@pytest.fixture(scope="module")
def validated_id(api: Api) -> str:
    """A model with all parts of a card."""
    with api.client() as client:
        validation = {"folds": 2, "permutations": 1, "bootstraps": 1}
        ask = {"data": samples.irises(), "params": {"regularization": None, "n_starts": 2}, "validation": validation}
        return str(samples.fit(client, ask)["model_id"])


def with_card(client: httpx2.Client, model_id: str, change: Callable[[dict[str, Any]], object]) -> httpx2.Response:
    """The answer to the import of a model's file after somebody has changed the card."""
    arrays = dict(np.load(io.BytesIO(client.get(f"/v1/models/{model_id}/file").content), allow_pickle=False))
    header = json.loads(arrays["header"].tobytes())
    change(header["card"])
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    return client.post("/v1/models", content=samples.npz(**arrays), headers=NPZ)


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/card/warnings", lambda card: card.update(warnings=5)),
        ("/card/unheard_of", lambda card: card.update(unheard_of=1)),
        ("/card/software", lambda card: card.pop("software")),
        ("/card/gamma", lambda card: card.update(gamma="1")),
        ("/card/validation/folds", lambda card: card["validation"].update(folds="<img src=x onerror=alert(1)>")),
        ("/card/validation/chance", lambda card: card["validation"].update(chance=1.5)),
        ("/card/validation/confusion/0", lambda card: card["validation"]["confusion"][0].pop()),
        ("/card/loadings", lambda card: card["loadings"].pop()),
        ("/card/loadings/0/1", lambda card: card["loadings"][0].__setitem__(1, math.inf)),
        ("/card/features/0", lambda card: card["features"].__setitem__(0, None)),
        ("/card/data/classes", lambda card: card["data"]["classes"].append("more")),
        ("/card/columns", lambda card: card.update(columns="none")),
        ("/card/verdict/level", lambda card: card["verdict"].update(level="superb")),
        ("/card/search/starts/0/stopping_reason", lambda card: card["search"]["starts"][0].update(stopping_reason="")),
    ],
)
def test_a_card_with_a_bad_key_is_refused_by_name(
    client: httpx2.Client, validated_id: str, pointer: str, change: Callable[[dict[str, Any]], object]
) -> None:
    refused = with_card(client, validated_id, change)
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert pointer[1:] in refused.json()["detail"]


def test_a_card_of_somebody_else_is_taken(client: httpx2.Client, validated_id: str) -> None:
    assert with_card(client, validated_id, lambda card: card["warnings"].append("Beware.")).status_code == 201


def test_projection_alone(client: httpx2.Client, model_id: str) -> None:
    response = client.get(f"/v1/models/{model_id}/file", headers={"Accept": "application/x-npy"})
    V = np.load(io.BytesIO(response.content), allow_pickle=False)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)


def test_schema_of_a_row(client: httpx2.Client, model_id: str) -> None:
    schema = client.get(f"/v1/models/{model_id}/schema").json()
    assert schema["required"] == samples.FEATURES
    row = dict(zip(schema["properties"], samples.irises()["X"][0], strict=True))
    assert client.post(f"/v1/models/{model_id}/predict", json={"rows": [row]}).json()["predictions"] == ["setosa"]


def test_alias_stands_for_a_model(client: httpx2.Client, model_id: str, dataset_id: str) -> None:
    alias = f"champion-{uuid.uuid4().hex[:8]}"
    path = f"/v1/aliases/{alias}"
    other = samples.fit(client, {"dataset_id": dataset_id, "method": "pca", "validation": None})["model_id"]
    made = client.put(path, json={"model_id": model_id}, headers={"If-None-Match": "*"})
    assert made.status_code == 201
    assert client.put(path, json={"model_id": model_id}, headers={"If-None-Match": "*"}).status_code == 412
    rows = {"X": samples.irises()["X"][:1]}
    answer = client.post(f"/v1/models/{alias}/predict", json=rows)
    assert answer.json()["model_id"] == model_id
    assert answer.headers["Melm-Model-Id"] == model_id
    moved = client.put(path, json={"model_id": other}, headers={"If-Match": made.headers["ETag"]})
    assert moved.status_code == 200
    assert client.post(f"/v1/models/{alias}/transform", json=rows).json()["model_id"] == other
    assert client.put(path, json={"model_id": other}, headers={"If-Match": made.headers["ETag"]}).status_code == 412
    assert client.get(path).json()["version"] == 2
    assert client.get(f"/v1/models/{alias}").json()["id"] == other
    assert alias in [each["alias"] for each in client.get("/v1/aliases").json()["data"]]
    assert client.delete(path, headers={"If-Match": made.headers["ETag"]}).status_code == 412
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(("n_components", "n_panels"), [(1, 1), (2, 1), (3, 3)])
def test_plot(client: httpx2.Client, dataset_id: str, n_components: int, n_panels: int) -> None:
    ask = {"dataset_id": dataset_id, "method": "pca", "params": {"n_components": n_components}, "validation": None}
    model_id = samples.fit(client, ask)["model_id"]
    plot = client.get(f"/v1/models/{model_id}/plot?max_points=30").json()
    assert plot["n_rows"] == 150
    assert len(plot["panels"]) == n_panels
    for panel in plot["panels"]:
        assert [series["label"] for series in panel["series"]] == ["setosa", "versicolor", "virginica"]
        assert sum(len(series["points"]) for series in panel["series"]) == (0 if n_components == 1 else 30)
        assert bool(panel["boundary"]) == (n_components == 2)
    drawn = client.get(f"/v1/models/{model_id}/plot.svg")
    assert drawn.headers["Content-Type"] == "image/svg+xml"
    root = ET.fromstring(drawn.text)  # noqa: S314 (our own drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_model_as_onnx_runs_elsewhere(client: httpx2.Client, model_id: str) -> None:
    response = client.get(f"/v1/models/{model_id}/file", headers={"Accept": "application/x-onnx"})
    assert response.headers["content-type"] == "application/x-onnx"
    session = onnxruntime.InferenceSession(response.content, providers=["CPUExecutionProvider"])
    rows = np.array(samples.irises()["X"], dtype=np.float64)
    label, _, _ = session.run(["label", "probabilities", "Z"], {"X": rows})
    asked = client.post(f"/v1/models/{model_id}/predict", json={"X": rows.tolist()}).json()["predictions"]
    assert np.mean([a == b for a, b in zip(label.tolist(), asked, strict=True)]) > 0.99
