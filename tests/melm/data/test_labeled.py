"""Problems of resamples: the same bits as of the rows taken out, without taking them out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from melm.data.labeled import Labeled
from melm.data.prepared_rows import PreparedRows
from melm.plan import Bootstrap, Fold, Resamples, Shuffle

RESAMPLES: list[Resamples] = [(Fold(1, 5, 0),), (Fold(1, 5, 0), Bootstrap(3)), (Shuffle(2),)]


def labeled(n_rows: int, dtype: type) -> Labeled:
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=n_rows)
    X = generator.standard_normal((n_rows, 40)) + y[:, None]
    X[:, 5] = 1.0  # constant
    return Labeled.check(X.astype(dtype), y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("resamples", RESAMPLES)
def test_a_resample_has_the_bits_of_its_rows_taken_out(resamples: Resamples, dtype: type) -> None:
    data = labeled(20_000, dtype)
    found = data.prepare("ledoit_wolf", resamples)
    expected = PreparedRows.prepare(*data.training(resamples), 3, "ledoit_wolf")
    for rows, others in zip(found.rows.by_class, expected.rows.by_class, strict=True):
        assert rows.dtype == dtype
        assert rows.tobytes() == others.tobytes()
    assert found.spread.total.tobytes() == expected.spread.total.tobytes()
    assert found.whitening.to_features.tobytes() == expected.whitening.to_features.tobytes()


def test_a_fold_is_copied_once() -> None:
    data = labeled(100_000, np.float64)
    tracemalloc.start()
    try:
        data.prepare("ledoit_wolf", RESAMPLES[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.4 * data.X.nbytes


def test_permuted_labels_are_the_same_rows_with_other_labels() -> None:
    data = labeled(200, np.float64)
    permuted = data.permuted(3)
    assert permuted.X is data.X
    assert np.array_equal(np.bincount(permuted.codes), np.bincount(data.codes))
    assert not np.array_equal(permuted.codes, data.codes)
    assert data.permuted(3) is permuted
    assert np.array_equal(permuted.codes, labeled(200, np.float64).permuted(3).codes)
    expected = PreparedRows.prepare(data.X, permuted.codes, 3, "ledoit_wolf")
    found = permuted.prepare("ledoit_wolf")
    assert [rows.tobytes() for rows in found.rows.by_class] == [rows.tobytes() for rows in expected.rows.by_class]
