"""The whole way of a user: upload, fit, follow, read, use. And the same model as the library gives, bit for bit."""

import io
from pathlib import Path

import httpx2
import numpy as np
import numpy.typing as npt
import pytest
from threadpoolctl import threadpool_limits

from melm import MELM
from melm.methods import METHODS
from tests.servers import RedisServer, redis_server, worker_process
from tests.service import samples
from tests.service.api import api_process


def projection_of(client: httpx2.Client, model_id: str) -> npt.NDArray[np.float64]:
    response = client.get(f"/v1/models/{model_id}/file", headers={"Accept": "application/x-npy"})
    V: npt.NDArray[np.float64] = np.load(io.BytesIO(response.content), allow_pickle=False)
    return V


def library_projection(n_starts: int) -> npt.NDArray[np.float64]:
    with threadpool_limits(1):
        V: npt.NDArray[np.float64] = (
            MELM(regularization=None, n_starts=n_starts, random_state=3).fit(*samples.iris_arrays()).projection_
        )
    return V


def test_from_csv_to_predictions(client: httpx2.Client) -> None:
    X, y = samples.iris_arrays()
    csv = {"content": samples.irises_csv(), "headers": {"Content-Type": "text/csv"}}

    created = client.post("/v1/datasets?target=species&name=from+csv", **csv)  # type: ignore[arg-type]
    assert created.status_code in (200, 201)
    dataset = client.get(created.headers["Location"]).json()
    assert dataset["classes"] == ["setosa", "versicolor", "virginica"]
    assert dataset["class_counts"] == [50, 50, 50]
    assert dataset["feature_names"] == samples.FEATURES

    ask = {
        "dataset_id": dataset["id"],
        "params": {"regularization": None, "n_starts": 4, "seed": 3},
        "name": "story",
        "force": True,
    }
    submitted = client.post("/v1/fits", json=ask)
    assert submitted.status_code == 202
    assert submitted.json()["status"] in ("queued", "running")
    assert int(submitted.headers["Retry-After"]) > 0
    fit = client.get(submitted.headers["Location"], headers={"Prefer": "wait=60"}).json()
    assert fit["status"] == "succeeded", fit["error"]
    assert fit["progress"]["starts_done"] == fit["progress"]["n_starts"] == 4
    assert fit["progress"]["best_divergence"] > 0

    model = client.get(f"/v1/models/{fit['model_id']}").json()
    assert model["classes"] == dataset["classes"]
    assert model["feature_names"] == samples.FEATURES
    card = model["card"]
    assert card["in_sample"]["divergence"] == pytest.approx(fit["progress"]["best_divergence"], rel=1e-6)
    assert card["validation"]["balanced_accuracy"] > 0.9
    assert card["parameters"]["n_starts"] == 4
    assert len(card["search"]["starts"]) == 4
    assert np.shape(card["loadings"]) == (4, 2)
    assert set(card["software"]["versions"]) >= {"melm", "numpy", "scipy"}

    V = projection_of(client, fit["model_id"])
    np.testing.assert_array_equal(V, model["projection"])
    Z = np.array(client.post(f"/v1/models/{fit['model_id']}/transform", json={"X": X.tolist()}).json()["Z"])
    np.testing.assert_array_equal(Z, (X - np.array(model["offset"])) @ V)
    answer = client.post(f"/v1/models/{fit['model_id']}/predict", json={"X": X.tolist()}).json()
    assert answer["model_id"] == fit["model_id"]
    assert np.mean(np.array(answer["predictions"]) == y) > 0.95
    score = client.post(f"/v1/models/{fit['model_id']}/score?target=species", **csv).json()  # type: ignore[arg-type]
    assert score["accuracy"] == np.mean(np.array(answer["predictions"]) == y)
    assert np.sum(score["confusion"]) == 150
    assert score["divergence"] == pytest.approx(card["in_sample"]["divergence"], rel=1e-6)


@pytest.mark.parametrize("validation", [None, {"folds": 2}])
def test_equals_the_library_bit_for_bit_with_two_processes(
    client: httpx2.Client, dataset_id: str, validation: dict[str, int] | None
) -> None:
    ask = {
        "dataset_id": dataset_id,
        "params": {"regularization": None, "n_starts": 5, "seed": 3},
        "validation": validation,
        "force": True,
    }
    fit = samples.fit(client, ask)
    np.testing.assert_array_equal(projection_of(client, fit["model_id"]), library_projection(5))


def test_equals_the_library_bit_for_bit_with_one_process(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as server,
        worker_process(server.url, tmp_path / "worker.log", worker_processes=1),
        api_process(server.url, tmp_path / "api.log") as api,
        api.client() as client,
    ):
        data = {"X": samples.irises()["X"], "y": samples.irises()["y"]}
        fit = samples.fit(
            client, {"data": data, "params": {"regularization": None, "n_starts": 5, "seed": 3}, "validation": None}
        )
        np.testing.assert_array_equal(projection_of(client, fit["model_id"]), library_projection(5))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_gives_a_model(client: httpx2.Client, dataset_id: str, method: str) -> None:
    fit = samples.fit(client, {"dataset_id": dataset_id, "method": method, "validation": None})
    assert fit["status"] == "succeeded", fit["error"]
    assert fit["method"] == method
    X, y = samples.iris_arrays()
    score = client.post(f"/v1/models/{fit['model_id']}/score", json={"X": X.tolist(), "y": y.tolist()}).json()
    assert score["balanced_accuracy"] > 0.8


def test_another_api_on_the_same_server_serves_the_same_models(
    server: RedisServer, folder: Path, model_id: str
) -> None:
    with api_process(server.url, folder / "second.log") as second, second.client() as client:
        rows = {"X": samples.irises()["X"][:1]}
        assert client.post(f"/v1/models/{model_id}/predict", json=rows).json()["predictions"] == ["setosa"]
