"""Sparse and wide matrices through the service."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csc_array, csr_array, random_array, save_npz

from melm import MELM
from melm.evidence.validation import Validation
from melm.methods import fit
from melm.remote import Client, RemoteMELM
from melm.tables.content_hash import content_hash
from tests.service import samples
from tests.service.api import Api

NPZ = {"Content-Type": "application/x-npz"}
N_ROWS = 40


def counts(n_features: int = 300, seed: int | None = None) -> tuple[Any, npt.NDArray[Any]]:
    """Counts as of words in texts of two kinds."""
    generator = np.random.default_rng(uuid.uuid4().int if seed is None else seed)
    y = np.arange(N_ROWS) % 2
    dense = generator.poisson(0.1, (N_ROWS, n_features)).astype(np.float64)
    dense[:, :3] += generator.poisson(1.0, (N_ROWS, 3)) * (1 + 2 * y[:, None])
    return csr_array(dense), y


def body(X: Any, **others: npt.NDArray[Any]) -> bytes:
    """What `save_npz` writes of a matrix, and other arrays beside it."""
    file = io.BytesIO()
    save_npz(file, X, compressed=False)
    file.seek(0)
    with np.load(file) as arrays:
        return samples.npz(**arrays, **others)


@pytest.fixture
def remote(api: Api) -> Iterator[Client]:
    with Client(api.url) as client:
        yield client


@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_an_upload_is_stored_once_whatever_its_form(client: httpx2.Client, form: Any) -> None:
    X, y = counts()
    first = client.post("/v1/datasets", content=body(form(X), y=y), headers=NPZ)
    assert first.status_code == 201, first.text
    found = first.json()
    assert (found["n_rows"], found["n_features"], found["n_nonzero"]) == (*X.shape, X.nnz)
    assert found["content_hash"] == content_hash(X, y)
    assert client.post("/v1/datasets", content=body(X, y=y), headers=NPZ).status_code == 200


def test_a_fit_and_its_answers_are_those_of_the_library(remote: Client) -> None:
    X, y = counts()
    dataset = remote.datasets.upload(X, y)
    assert remote.datasets.upload(X, y) == dataset
    params: dict[str, Any] = {"n_starts": 2, "regularization": None}
    model = remote.fits.submit(dataset, params=params, validation={"folds": 2}).wait()
    local = MELM(**params, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), local.transform(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    np.testing.assert_array_equal(model.predict(X.toarray()), local.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), local.predict_proba(X))
    assert model.score(X, y)["accuracy"] == local.score(X, y)
    validated = fit("melm", X, y, **params, validation=Validation(folds=2)).card.validation
    assert validated is not None
    assert model.describe()["card"]["validation"]["balanced_accuracy"] == validated.balanced_accuracy


def test_the_estimator_takes_sparse_rows(api: Api) -> None:
    X, y = counts()
    ours = RemoteMELM(api.url, n_starts=2, random_state=0).fit(X, y)
    theirs = MELM(n_starts=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.__sklearn_tags__().input_tags.sparse


def test_stored_rows_are_given_back_whole(client: httpx2.Client) -> None:
    X, y = counts(50)
    dataset = client.post("/v1/datasets", content=body(X, y=y), headers=NPZ).json()["id"]
    answer = client.get(
        f"/v1/datasets/{dataset}/rows", params={"rows": [7, 0]}, headers={"Accept": NPZ["Content-Type"]}
    )
    with np.load(io.BytesIO(answer.content)) as page:
        np.testing.assert_array_equal(page["X"], X.toarray()[[7, 0]])
        np.testing.assert_array_equal(page["y"], y[[7, 0]])


def test_a_picture_gets_the_rows_of_a_model(client: httpx2.Client) -> None:
    X, y = counts(50)
    dataset = client.post("/v1/datasets", content=body(X, y=y), headers=NPZ).json()["id"]
    ask = {"dataset_id": dataset, "method": "pca", "validation": None}
    record = client.post("/v1/fits", json=ask, headers={"Prefer": "wait=60"}).json()
    answer = client.get(f"/v1/models/{record['model_id']}/features", headers={"Accept": NPZ["Content-Type"]})
    assert answer.status_code == 200, answer.text
    with np.load(io.BytesIO(answer.content)) as found:
        dense = X.toarray()
        scale = np.where(np.ptp(dense, axis=0) > 0, dense.std(axis=0), 1)
        np.testing.assert_allclose(found["X"], (dense - dense.mean(axis=0)) / scale, atol=1e-5)


@pytest.mark.parametrize(
    ("spoil", "detail"),
    [
        (lambda X: X.data.__setitem__(0, np.nan), "row index 0, column"),
        (lambda X: X.indices.__setitem__(0, 300), "indices are not all from 0 to 299"),
        (lambda X: X.indptr.__setitem__(-1, 1), "indptr does not divide"),
    ],
)
def test_a_bad_matrix_is_refused_with_a_reason(client: httpx2.Client, spoil: Any, detail: str) -> None:
    X, y = counts()
    arrays = {"format": np.array(b"csr"), "shape": np.array(X.shape)}
    spoil(X)
    arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    answer = client.post("/v1/datasets", content=samples.npz(**arrays, y=y), headers=NPZ)
    assert answer.status_code == 422
    assert detail in answer.json()["errors"][0]["detail"]


def test_rows_without_a_label_and_columns_beyond_the_limit_are_refused(client: httpx2.Client) -> None:
    X, y = counts()
    answer = client.post("/v1/datasets", content=body(X, y=y[1:]), headers=NPZ)
    assert "39 labels for 40 rows" in answer.json()["errors"][0]["detail"]
    wide = csr_array(random_array((4, 1_000_001), density=1e-5, rng=np.random.default_rng(0)))
    answer = client.post("/v1/datasets", content=body(wide, y=np.array([0, 0, 1, 1])), headers=NPZ)
    assert answer.status_code == 422
    assert "1000001 columns are more than the limit of 1000000" in answer.json()["errors"][0]["detail"]


def test_there_is_nothing_to_inspect(client: httpx2.Client) -> None:
    X, y = counts()
    answer = client.post("/v1/datasets", params={"dry_run": True}, content=body(X, y=y), headers=NPZ)
    assert answer.status_code == 422
    assert "taken as it is" in answer.json()["errors"][0]["detail"]


def test_a_million_sparse_columns_pass_all_doors(remote: Client) -> None:
    generator = np.random.default_rng(uuid.uuid4().int)
    y = np.arange(N_ROWS) % 2
    X = csr_array(random_array((N_ROWS, 1_000_000), density=5e-4, rng=generator))
    X = csr_array(X + csr_array((2.0 + y, (np.arange(N_ROWS), np.zeros(N_ROWS, int))), shape=X.shape))
    dataset = remote.datasets.upload(X, y)
    params = {"n_starts": 2, "max_iterations": 20, "regularization": None}
    model = remote.fits.submit(dataset, params=params, validation={"folds": 2}).wait()
    assert model.predict(X[:5]).shape == (5,)
    local = model.to_local().model_
    assert local.standardized_loadings.shape == (1_000_000, 2)
    assert (len(local.card.features), local.card.n_more_features) == (1_000, 999_000)
    assert local.card.importance is not None
    assert len(local.card.importance.columns) == 200
