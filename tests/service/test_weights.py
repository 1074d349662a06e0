"""How often a row counts, over HTTP: a column with the role `weight`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt
import pytest

from melm import MELM
from melm.remote import Client
from tests.melm.samples import mixture
from tests.service.api import Api

ROLES = {"w": "weight"}


def weighted_rows() -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    X, y = mixture([30, 24], 3)
    return X, y, np.random.default_rng(2).integers(0, 4, len(X))


def table(weights: Any) -> bytes:
    X, y, _ = weighted_rows()
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["u", "v", "x", "w", "kind"])
    writer.writerows([*row, weight, f"k{label}"] for row, weight, label in zip(X.tolist(), weights, y, strict=True))
    return text.getvalue().encode()


@pytest.fixture
def remote(api: Api) -> Iterator[Client]:
    with Client(api.url) as client:
        yield client


def test_a_weighted_fit_is_that_of_the_library(remote: Client) -> None:
    X, y, weights = weighted_rows()
    dataset = remote.datasets.upload_file(table(weights), target="kind", columns=ROLES)
    params = {"n_starts": 2, "regularization": None}
    model = remote.fits.submit(dataset, params=params, validation={"folds": 3}).wait()
    local = MELM(n_starts=2, regularization=None, random_state=0).fit(X, y, sample_weight=weights)
    found = model.describe()
    assert found["card"]["in_sample"]["divergence"] == pytest.approx(local.divergence_, abs=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X), atol=1e-4)
    assert "w" not in found["feature_names"]


@pytest.mark.parametrize(
    ("place", "value", "detail"),
    [
        (4, -1, "column 'w': row index 4: a weight is a finite number"),
        (4, "", "column 'w': row index 4: a weight is a finite number"),
        (slice(None), [0] * 54, "column 'w': all weights are 0"),
    ],
)
def test_weights_that_are_none_are_refused(client: httpx2.Client, place: Any, value: Any, detail: str) -> None:
    weights = weighted_rows()[2].tolist()
    weights[place] = value
    options = {"target": "kind", "columns": '{"w": "weight"}'}
    answer = client.post("/v1/datasets", params=options, content=table(weights), headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422
    assert detail in answer.json()["errors"][0]["detail"]


def test_a_class_whose_rows_do_not_count_is_refused(client: httpx2.Client) -> None:
    _, y, weights = weighted_rows()
    options = {"target": "kind", "columns": '{"w": "weight"}'}
    content = table(np.where(y == 1, 0, weights + 1))
    answer = client.post("/v1/datasets", params=options, content=content, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422
    assert "'k1'" in answer.json()["errors"][0]["detail"]
