"""How far apart other projections keep the classes of a model's training rows."""

from __future__ import annotations

import httpx2
import numpy as np
import pytest

from melm.objective.divergence import divergence
from tests.service import samples


def test_separation_is_that_of_the_library(client: httpx2.Client, model_id: str) -> None:
    card = client.get(f"/v1/models/{model_id}").json()
    url = f"/v1/models/{model_id}/separation"
    same = client.post(url, json={"V": card["projection"]}).json()
    assert same["divergence"] == pytest.approx(card["card"]["in_sample"]["divergence"])
    expected = card["card"]["in_sample"]["leave_one_out_balanced_accuracy"]
    assert same["leave_one_out_balanced_accuracy"] == pytest.approx(expected)
    X, y = samples.iris_arrays()
    V = np.eye(4)[:, 1:3]
    other = client.post(url, json={"V": V.tolist()}).json()
    assert other["divergence"] == pytest.approx(divergence(X, y, V, gamma=card["card"]["gamma"]))
    assert other["divergence"] < same["divergence"]


@pytest.mark.parametrize("V", [[[1.0]], [[1.0, 1.0]] * 4, [[1.0], [1.0, 2.0], [1.0], [1.0]]])
def test_a_projection_that_is_none_is_named(client: httpx2.Client, model_id: str, V: list[list[float]]) -> None:
    answer = client.post(f"/v1/models/{model_id}/separation", json={"V": V})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/V"


def test_a_model_without_its_rows_says_so(client: httpx2.Client, model_id: str) -> None:
    file = client.get(f"/v1/models/{model_id}/file").content
    headers = {"Content-Type": "application/x-npz"}
    imported = client.post("/v1/models", content=file, headers=headers).json()["id"]
    V = client.get(f"/v1/models/{imported}").json()["projection"]
    answer = client.post(f"/v1/models/{imported}/separation", json={"V": V})
    assert answer.status_code == 404
    assert "dataset of the imported model" in answer.json()["detail"]
