"""Data and requests that many tests use."""

from __future__ import annotations

import io
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_iris

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def iris_arrays() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """The irises, labeled by name."""
    loaded = load_iris()
    return loaded.data, loaded.target_names[loaded.target].astype(np.str_)


def irises() -> dict[str, Any]:
    """The same as a body."""
    X, y = iris_arrays()
    return {"X": X.tolist(), "y": y.tolist(), "feature_names": FEATURES, "name": "irises"}


def irises_csv() -> bytes:
    """The same as CSV."""
    X, y = iris_arrays()
    rows = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join([",".join([*FEATURES, "species"]), *rows]).encode()


def npy(values: npt.NDArray[Any]) -> bytes:
    """An array as npy."""
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


def npz(**arrays: npt.NDArray[Any]) -> bytes:
    """Arrays as npz."""
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def deflated_npz(**arrays: npt.NDArray[Any]) -> bytes:
    """Arrays as npz, compressed."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def fit(client: httpx2.Client, body: dict[str, Any], wait_seconds: int = 60) -> dict[str, Any]:
    """Submit a fit and wait for its end."""
    response = client.post("/v1/fits", json=body, headers={"Prefer": f"wait={wait_seconds}"})
    assert response.status_code in (200, 202), response.text
    record: dict[str, Any] = response.json()
    return record


def wait(client: httpx2.Client, fit_id: str, wait_seconds: int = 60) -> dict[str, Any]:
    """A fit at its end."""
    record: dict[str, Any] = client.get(f"/v1/fits/{fit_id}", headers={"Prefer": f"wait={wait_seconds}"}).json()
    return record
