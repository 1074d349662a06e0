"""GET /v1/methods says what a fit takes, and a fit takes what it says."""

from __future__ import annotations

import httpx2
import pytest

from melm.methods import METHODS
from tests.service.api import Api


@pytest.fixture(scope="module")
def listed(api: Api) -> dict[str, dict[str, object]]:
    with api.client() as client:
        answer = client.get("/v1/methods")
    assert answer.status_code == 200
    return {method["name"]: method for method in answer.json()["data"]}


def test_all_methods_are_listed_and_melm_comes_first(listed: dict[str, dict[str, object]]) -> None:
    assert set(listed) == set(METHODS)
    assert next(iter(listed)) == "melm"


def test_every_parameter_has_a_text_and_a_default_that_is_accepted(
    client: httpx2.Client, dataset_id: str, listed: dict[str, dict[str, object]]
) -> None:
    for name, method in listed.items():
        parameters = method["parameters"]
        assert isinstance(parameters, list)
        assert all(parameter["description"].endswith(".") for parameter in parameters)
        params = {parameter["name"]: parameter["default"] for parameter in parameters} | {"gamma": 1.0}
        body = {"dataset_id": dataset_id, "method": name, "params": params, "validation": None}
        answer = client.post("/v1/fits", json=body)
        assert answer.status_code in (200, 202), (name, answer.text)
        client.post(f"/v1/fits/{answer.json()['id']}/cancel")


def test_validation_is_the_one_of_a_plain_fit(client: httpx2.Client, dataset_id: str) -> None:
    usual = client.get("/v1/methods").json()["validation"]
    fit = client.post("/v1/fits", json={"dataset_id": dataset_id, "method": "pca", "params": {"seed": 11}}).json()
    assert fit["validation"] == usual
