"""The features of a model's training rows, encoded and standardized; a sample, if there are many rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.model import Model
from melm.tables.table import Table
from melm.typing import AnyArray
from service.intake.formats import NamedArrays, npy
from worker.store.datasets import Datasets
from worker.store.records import DatasetRecord

MAX_ROWS = 100_000
MAX_CELLS = 1 << 23  # wide tables have fewer rows
MEDIA_TYPES = ["application/x-npy", "application/x-npz"]


@dataclass(frozen=True)
class TrainingFeatures:
    """Standardized rows, with center and scale to invert the standardization: x = X scale + center."""

    X: npt.NDArray[np.float32]  # (m, d)
    row_numbers: npt.NDArray[np.intp]  # (m,), in the dataset
    codes: npt.NDArray[np.intp]  # (m,), of the classes
    center: AnyArray  # (d,)
    scale: AnyArray  # (d,), zero for constant features
    names: list[str]

    def encode(self, media_type: str) -> bytes:
        """The matrix alone as npy, all of it as npz."""
        if media_type == "application/x-npy":
            return npy.write_npy(self.X)
        arrays: dict[str, AnyArray] = {
            "X": self.X,
            "row_numbers": self.row_numbers,
            "codes": self.codes,
            "center": self.center,
            "scale": self.scale,
            "feature_names": np.array(self.names, np.str_),
        }
        return npy.encode_npz(NamedArrays(arrays, (), ""))


def read_features(datasets: Datasets, tenant: str, record: DatasetRecord, model: Model) -> TrainingFeatures:
    """All rows, or a random sample of them, which is the same each time."""
    n_rows, n_features = record.n_rows, len(model.projection)
    n_kept = min(n_rows, MAX_ROWS, max(1, MAX_CELLS // n_features))
    kept = np.sort(np.random.default_rng(0).choice(n_rows, n_kept, replace=False))
    X = np.empty((n_kept, n_features))
    moments = Moments(n_features)
    for first, rows in _encoded(datasets, tenant, record, model):
        moments.add(rows)
        low, high = np.searchsorted(kept, (first, first + len(rows)))
        X[low:high] = rows[kept[low:high] - first]
    center, scale = moments.mean, moments.scale
    X -= center
    X /= np.where(scale == 0, 1, scale)
    X[:, scale == 0] = 0
    codes = np.searchsorted(model.classes, datasets.labels(tenant, record)[0][kept])
    return TrainingFeatures(X.astype(np.float32), kept, codes, center, scale, model.features)


def _encoded(
    datasets: Datasets, tenant: str, record: DatasetRecord, model: Model
) -> Iterator[tuple[int, npt.NDArray[np.floating]]]:
    """The features of all rows, block by block, each with the number of its first row."""
    _, part = datasets.labels(tenant, record) if model.encoder is not None else (None, None)
    names = tuple(record.feature_names or ())
    numbers = tuple(name for name in names if name not in record.text_names)
    first = 0
    for X, codes in datasets.blocks(tenant, record):
        rows = X
        if model.encoder is not None and part is not None:
            rows = model.encoder.encode(Table(names, numbers, X, part.text_names, codes, part.categories))
        yield first, rows
        first += len(rows)


class Moments:
    """Mean and spread of the columns of rows that come in blocks, each seen once."""

    def __init__(self, n_features: int) -> None:
        self.mean = np.zeros(n_features)
        self._squares = np.zeros(n_features)
        self._low, self._high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        self._n_rows = 0

    def add(self, rows: npt.NDArray[np.floating]) -> None:
        """The next rows: two means and two sums of squares become one of each (Chan, Golub and LeVeque 1983)."""
        n_rows = self._n_rows + len(rows)
        mean = rows.mean(axis=0, dtype=np.float64)
        step = mean - self.mean
        self.mean += step * (len(rows) / n_rows)
        self._squares += np.square(rows - mean).sum(axis=0) + np.square(step) * (self._n_rows * len(rows) / n_rows)
        self._low, self._high = np.minimum(self._low, rows.min(axis=0)), np.maximum(self._high, rows.max(axis=0))
        self._n_rows = n_rows

    @property
    def scale(self) -> AnyArray:
        """Standard deviation of each column, zero where it is constant."""
        scale: AnyArray = np.where(self._high > self._low, np.sqrt(self._squares / self._n_rows), 0.0)
        return scale
