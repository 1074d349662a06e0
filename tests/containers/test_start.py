"""From README's commands to a prediction, and a worker that dies on the way."""

from __future__ import annotations

import io

import httpx2
import numpy as np
import pytest

from melm import MELM
from tests.containers.deployment import Deployment
from tests.service import samples

pytestmark = pytest.mark.containers

LONG = {"params": {"regularization": None, "n_starts": 40}, "validation": None, "force": True}


def projection(client: httpx2.Client, model_id: str) -> bytes:
    """A model's V as the service sends it."""
    answer = client.get(f"/v1/models/{model_id}/file", headers={"Accept": "application/x-npy"})
    return answer.raise_for_status().content


def test_nobody_comes_in_without_a_key(deployment: Deployment, client: httpx2.Client) -> None:
    assert client.get("/v1/fits", headers={"Authorization": ""}).status_code == 401
    assert deployment.key not in deployment.compose("logs")


def test_a_fit_is_that_of_the_library(client: httpx2.Client) -> None:
    X, y = samples.iris_arrays()
    body = {
        "data": {"X": X.tolist(), "y": y.tolist()},
        "params": {"regularization": None, "n_starts": 2},
        "validation": None,
    }
    fit = samples.fit(client, body)
    assert fit["status"] == "succeeded", fit
    estimator = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
    V = np.load(io.BytesIO(projection(client, fit["model_id"])))
    np.testing.assert_allclose(V, estimator.projection_, atol=1e-6)  # another release of Python and its BLAS
    answer = client.post(f"/v1/models/{fit['model_id']}/predict", json={"X": X.tolist()}).raise_for_status().json()
    assert answer["predictions"] == estimator.predict(X).tolist()


def test_a_killed_worker_is_started_again_and_nothing_is_lost(deployment: Deployment, client: httpx2.Client) -> None:
    dataset = client.post("/v1/datasets", json=samples.irises()).raise_for_status().json()
    undisturbed = samples.fit(client, {"dataset_id": dataset["id"], **LONG})
    disturbed = client.post("/v1/fits", json={"dataset_id": dataset["id"], **LONG}).raise_for_status().json()
    deployment.kill_process("worker")
    ended = samples.wait(client, disturbed["id"])
    assert (undisturbed["status"], ended["status"]) == ("succeeded", "succeeded")
    assert projection(client, ended["model_id"]) == projection(client, undisturbed["model_id"])


def test_the_image_holds_what_runs_and_nothing_else(deployment: Deployment) -> None:
    """No tools of development or installation; a user of its own; at most 350 MB beyond its base."""
    engine, image = deployment.engine, deployment.image
    finder = "from importlib.util import find_spec as f; print([n for n in ('pip', 'pytest', 'mypy', 'tests') if f(n)])"
    assert (
        engine.docker("run", "--rm", "--network", "none", image, "/opt/melm/bin/python", "-c", finder).strip() == "[]"
    )
    described = engine.inspect(image)
    assert described["Config"]["User"] == "melm"
    assert described["Config"]["Labels"]["org.opencontainers.image.version"] == deployment.version
    assert described["Size"] - engine.inspect(deployment.base)["Size"] < 350e6
