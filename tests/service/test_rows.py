"""Rows for their owner: a dataset's as they were uploaded, a model's as it sees them."""

import io
import uuid
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pytest

from melm.model import file as model_file
from service import stored_rows, training_features
from tests.messy_table import N_ROWS, messy_csv, messy_frame, messy_rows
from tests.servers import RedisServer
from tests.service import samples
from tests.service.api import api_process

CSV = {"Content-Type": "text/csv"}
TARGET = {"target": "finding"}
KEPT = ["patient", "height", "color", "zip", "weight, kg", "dose", "finding"]


@pytest.fixture(scope="module")
def messy(api: Any) -> str:
    """A dataset of a table with ids, text and missing values."""
    with api.client() as client:
        response = client.post("/v1/datasets", params=TARGET, content=messy_csv(), headers=CSV)
    assert response.status_code in (200, 201), response.text
    return str(response.json()["id"])


def rows(client: httpx2.Client, dataset_id: str, accept: str | None = None, **params: Any) -> httpx2.Response:
    headers = {} if accept is None else {"Accept": accept}
    response = client.get(f"/v1/datasets/{dataset_id}/rows", params=params, headers=headers)
    assert response.status_code == 200, response.text
    return response


def cells(page: dict[str, Any]) -> dict[str, list[Any]]:
    return {column["name"]: column["values"] for column in page["columns"]}


def test_json_has_the_cells_by_column(client: httpx2.Client, messy: str) -> None:
    page = rows(client, messy).json()
    assert (page["dataset_id"], page["n_rows"], page["next_offset"]) == (messy, N_ROWS, None)
    assert page["row_numbers"] == list(range(N_ROWS))
    assert [column["name"] for column in page["columns"]] == KEPT
    assert [column["role"] for column in page["columns"]] == [
        "id",
        "numeric",
        "categorical",
        "categorical",
        "numeric",
        "numeric",
        "target",
    ]
    frame = messy_frame()
    for name, values in cells(page).items():
        assert values == [None if cell != cell else cell for cell in frame[name].tolist()]


@pytest.mark.parametrize("accept", ["text/csv", "application/vnd.apache.arrow.stream"])
def test_what_comes_back_is_the_same_dataset(client: httpx2.Client, messy: str, accept: str) -> None:
    content = rows(client, messy, accept).content
    again = client.post("/v1/datasets", params=TARGET, content=content, headers={"Content-Type": accept})
    assert (again.status_code, again.json()["id"]) == (200, messy), again.text


def test_npz_of_a_matrix_is_the_same_dataset(client: httpx2.Client, dataset_id: str) -> None:
    content = rows(client, dataset_id, "application/x-npz").content
    again = client.post("/v1/datasets", content=content, headers={"Content-Type": "application/x-npz"})
    assert (again.status_code, again.json()["id"]) == (200, dataset_id), again.text


def test_npz_of_a_table_has_its_text_beside(client: httpx2.Client, messy: str) -> None:
    arrays = np.load(io.BytesIO(rows(client, messy, "application/x-npz", rows=[5, 0]).content))
    assert arrays["row_numbers"].tolist() == [5, 0]
    assert arrays["feature_names"].tolist() == ["height", "weight, kg", "dose"]
    assert arrays["text_names"].tolist() == ["color", "zip"]
    assert arrays["text"].tolist() == [
        [messy_rows()[row][2].replace("null", ""), messy_rows()[row][3]] for row in (5, 0)
    ]
    assert arrays["ids"].tolist() == [int(messy_rows()[5][0]), int(messy_rows()[0][0])]
    assert np.isnan(arrays["X"][1, 0])  # the first row lacks its size


def test_pages_lead_from_one_to_the_next(client: httpx2.Client, messy: str) -> None:
    seen: list[int] = []
    address = f"/v1/datasets/{messy}/rows?limit=40"
    while address:
        response = client.get(address)
        seen += response.json()["row_numbers"]
        following = response.links.get("next", {}).get("url")
        assert (following is None) == (response.json()["next_offset"] is None)
        address = "" if following is None else f"/v1/datasets/{messy}/rows{following}"
    assert seen == list(range(N_ROWS))


def test_chosen_rows_come_in_the_order_in_which_they_are_named(client: httpx2.Client, messy: str) -> None:
    whole = cells(rows(client, messy).json())
    ids = [str(whole["patient"][7]), str(whole["patient"][2])]
    page = rows(client, messy, rows=[80, 3], ids=ids).json()
    assert page["row_numbers"] == [80, 3, 7, 2]
    assert cells(page)["height"] == [whole["height"][row] for row in (80, 3, 7, 2)]


@pytest.mark.parametrize(
    ("params", "word"),
    [({"rows": [90]}, "no row 90"), ({"rows": [-1]}, "no row -1"), ({"ids": ["x", "90000"]}, "'x'")],
)
def test_rows_that_are_not_there(client: httpx2.Client, messy: str, params: dict[str, Any], word: str) -> None:
    problem = client.get(f"/v1/datasets/{messy}/rows", params=params)
    assert problem.status_code == 422
    assert word in problem.json()["errors"][0]["detail"]


def test_a_matrix_has_no_ids(client: httpx2.Client, dataset_id: str) -> None:
    problem = client.get(f"/v1/datasets/{dataset_id}/rows", params={"ids": ["1"]})
    assert "no ids" in problem.json()["errors"][0]["detail"]


def test_formulas_are_disarmed_unless_asked_for(client: httpx2.Client) -> None:
    body = {"X": [[1.0], [2], [3], [4]], "y": ["=1+1", "b"] * 2, "feature_names": ["y"]}
    dataset_id = client.post("/v1/datasets", json=body).json()["id"]
    assert rows(client, dataset_id, "text/csv").text.splitlines()[:2] == ["y,y_", "1,'=1+1"]
    assert rows(client, dataset_id, "text/csv", raw=True).text.splitlines()[1] == "1,=1+1"


def test_other_media_types_are_refused(client: httpx2.Client, dataset_id: str, model_id: str) -> None:
    for path in (f"/v1/datasets/{dataset_id}/rows", f"/v1/models/{model_id}/features"):
        assert client.get(path, headers={"Accept": "image/png"}).status_code == 406


def test_a_page_ends_where_it_would_be_too_large(
    api: Any, client: httpx2.Client, server: RedisServer, messy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.engine import open_engine
    from worker.store.records import DEFAULT_TENANT
    from worker.store.settings import Settings

    monkeypatch.setattr(stored_rows, "PAGE_BYTES", 2000)
    store = open_engine(Settings(redis_url=server.url))
    record = store.datasets.get(DEFAULT_TENANT, messy)
    everything = np.arange(record.n_rows)
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = stored_rows.read_page(store.datasets, DEFAULT_TENANT, record, everything, offset, 1000)
        assert 1 <= len(page.row_numbers) < 60
        seen += page.row_numbers.tolist()
        offset = page.next_offset
    assert seen == everything.tolist()


def test_features_are_the_standardized_training_rows(client: httpx2.Client, model_id: str) -> None:
    X, y = samples.iris_arrays()
    plain = client.get(f"/v1/models/{model_id}/features")
    assert plain.headers["Content-Type"] == "application/x-npy"
    found = np.load(io.BytesIO(plain.content))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-6)
    arrays = np.load(
        io.BytesIO(client.get(f"/v1/models/{model_id}/features", headers={"Accept": "application/x-npz"}).content)
    )
    assert arrays["row_numbers"].tolist() == list(range(150))
    assert np.unique(y)[arrays["codes"]].tolist() == y.tolist()
    assert arrays["feature_names"].tolist() == samples.FEATURES
    np.testing.assert_allclose(arrays["X"] * arrays["scale"] + arrays["center"], X, atol=1e-5)


def test_features_of_a_table_are_encoded_as_the_model_does(client: httpx2.Client, messy: str) -> None:
    fit = samples.fit(client, {"dataset_id": messy, "method": "pca", "validation": None})
    content = client.get(f"/v1/models/{fit['model_id']}/features", headers={"Accept": "application/x-npz"}).content
    arrays = np.load(io.BytesIO(content))
    file = client.get(f"/v1/models/{fit['model_id']}/file", headers={"Accept": "application/x-npz"}).content
    model = model_file.load(file)
    assert arrays["feature_names"].tolist() == model.feature_names
    X = arrays["X"] * arrays["scale"] + arrays["center"]
    answer = client.post(
        f"/v1/models/{fit['model_id']}/transform",
        content=messy_csv(),
        headers=CSV | {"Accept": "application/json"},
    )
    np.testing.assert_allclose(model.transform(X), answer.json()["Z"], atol=1e-3)


def test_of_many_rows_some_are_drawn_once_and_for_all(
    client: httpx2.Client, large_dataset_id: str, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from melm.methods import fit
    from worker.engine import open_engine
    from worker.store import datasets
    from worker.store.records import DEFAULT_TENANT
    from worker.store.settings import Settings

    monkeypatch.setattr(training_features, "MAX_ROWS", 500)
    store = open_engine(Settings(redis_url=server.url))
    X, y = np.random.default_rng(int(uuid.uuid4())).normal(3, 2, size=(2000, 3)), np.arange(2000) % 2
    X[:, 1] = 0.1
    monkeypatch.setattr(datasets, "BLOCK_BYTES", 3000)
    record, _ = store.datasets.create(DEFAULT_TENANT, X, y)
    model = fit("pca", X, y)
    found = training_features.read_features(store.datasets, DEFAULT_TENANT, record, model)
    assert len(found.X) == len(set(found.row_numbers)) == 500
    scale = np.array([X[:, 0].std(), np.inf, X[:, 2].std()])
    np.testing.assert_allclose(found.X, ((X - X.mean(axis=0)) / scale)[found.row_numbers], atol=1e-6)
    assert found.scale[1] == 0
    again = training_features.read_features(store.datasets, DEFAULT_TENANT, record, model)
    assert np.array_equal(found.row_numbers, again.row_numbers)


def test_an_imported_model_has_no_training_rows_here(client: httpx2.Client, model_id: str) -> None:
    file = client.get(f"/v1/models/{model_id}/file").content
    imported = client.post("/v1/models", content=file, headers={"Content-Type": "application/x-npz"}).json()
    assert client.get(f"/v1/models/{imported['id']}/features").status_code == 404


def test_an_operator_can_keep_rows_in(server: RedisServer, tmp_path: Path, dataset_id: str, model_id: str) -> None:
    with api_process(server.url, tmp_path / "api.log", serve_rows=0) as closed, closed.client() as client:
        for path in (f"/v1/datasets/{dataset_id}/rows", f"/v1/models/{model_id}/features"):
            refused = client.get(path)
            assert refused.status_code == 403
            assert "MELM_SERVE_ROWS" in refused.json()["detail"]
        assert client.get(f"/v1/datasets/{dataset_id}").status_code == 200


def test_arrow_has_nulls(client: httpx2.Client, messy: str) -> None:
    table = pa.ipc.open_stream(rows(client, messy, "application/vnd.apache.arrow.stream").content).read_all()
    assert table.column_names == KEPT
    assert table["height"].null_count == 9
