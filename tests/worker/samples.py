"""Small datasets and submissions for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from melm.typing import AnyArray
from worker.engine import Engine
from worker.store.records import DatasetRecord, FitSubmission


def two_blobs(n_rows: int = 40, n_features: int = 3, seed: int = 0) -> tuple[AnyArray, AnyArray]:
    """Two classes, "left" and "right"."""
    random = np.random.default_rng(seed)
    y = np.array(["left", "right"])[np.arange(n_rows) % 2]
    return random.standard_normal((n_rows, n_features)) + 2 * (y == "right")[:, None], y


def stored_dataset(store: Engine, tenant: str) -> DatasetRecord:
    """Two blobs, stored."""
    return store.datasets.create(tenant, *two_blobs())[0]


def submission(
    dataset: DatasetRecord,
    *,
    force: bool = False,
    budget: float | None = None,
    folds: int | None = None,
    **params: Any,
) -> FitSubmission:
    """A fit with the stand-in method."""
    complete = {"n_starts": 4, "seed": 0, "seconds": 0.0, **params}
    return FitSubmission(
        dataset_id=dataset.id,
        dataset_hash=dataset.content_hash,
        method="stand_in",
        params=complete,
        validation=None if folds is None else {"folds": folds},
        n_starts=complete["n_starts"],
        time_budget_seconds=budget,
        force=force,
    )
