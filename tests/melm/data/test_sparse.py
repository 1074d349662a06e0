"""Sparse rows: the same fits as of dense ones, and never made dense."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, random_array

from melm import MELM, Divergence
from melm.data import row_space
from melm.data.taken import ScaledRows, Taken
from melm.evidence.validation import Validation
from melm.methods import METHODS, fit
from tests.melm.samples import Array

N_ROWS = 45


def counts(n_features: int, n_rows: int = N_ROWS, seed: int = 0) -> tuple[Any, npt.NDArray[Any]]:
    """Counts as of words in texts: an empty row, and a feature that is zero everywhere."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    dense = generator.poisson(0.15, (n_rows, n_features)) * generator.uniform(0.5, 3, n_features)
    dense[:, :4] += generator.poisson(1.0, (n_rows, 4)) * (y[:, None] + 1)
    dense[7], dense[:, -1] = 0.0, 0.0
    return csr_array(dense), y


@pytest.mark.parametrize("n_features", [30, 45, 300])
def test_a_fit_is_the_one_of_dense_rows(n_features: int) -> None:
    X, y = counts(n_features)
    new_rows, _ = counts(n_features, 200, seed=1)
    sparse, dense = (MELM(regularization=None, n_starts=2, random_state=0).fit(rows, y) for rows in (X, X.toarray()))
    assert sparse.divergence_ == pytest.approx(dense.divergence_, rel=1e-8)
    np.testing.assert_array_equal(sparse.predict(new_rows), dense.predict(new_rows.toarray()))
    np.testing.assert_allclose(sparse.transform(new_rows), dense.transform(new_rows.toarray()), atol=1e-3)
    np.testing.assert_allclose(sparse.model_.card.loadings, dense.model_.card.loadings, atol=1e-3)
    assert sparse.model_.card.data == dense.model_.card.data


def test_value_and_gradient_are_those_of_dense_rows() -> None:
    X, y = counts(100)
    V: Array = np.random.default_rng(0).standard_normal((100, 2))
    value, gradient = Divergence(X, y).value_and_gradient(V)
    expected, expected_gradient = Divergence(X.toarray(), y).value_and_gradient(V)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-9)


def test_products_are_those_of_the_filled_rows() -> None:
    X, _ = counts(20)
    weights = np.random.default_rng(0).uniform(0.5, 2, N_ROWS)
    sparse, dense = (ScaledRows.standardize(Taken.of(rows), weights) for rows in (X, X.toarray()))
    V, A = np.random.default_rng(1).standard_normal((20, 3)), np.random.default_rng(2).standard_normal((N_ROWS, 3))
    for ours, theirs in (
        (sparse.offset, dense.offset),
        (sparse.scale, dense.scale),
        (sparse.project(V), dense.project(V)),
        (sparse.pull_back(A), dense.pull_back(A)),
        (sparse.gram(), dense.gram()),
        (sparse.times_gram(A), dense.gram() @ A),
        (sparse.columns(np.array([3, 19])), dense.columns(np.array([3, 19]))),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_sparse_rows_as_dense_ones_or_says_why_not(name: str) -> None:
    X, y = counts(120)
    quick: dict[str, Any] = {"regularization": None, "n_starts": 2} if name == "melm" else {}
    if name in ("fa", "gem", "nmf"):
        with pytest.raises(ValueError, match="takes dense rows only"):
            fit(name, X, y)
        return
    sparse, dense = fit(name, X, y, **quick), fit(name, X.toarray(), y, **quick)
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X.toarray()))


def test_evidence_is_that_of_dense_rows() -> None:
    X, y = counts(120)
    asked = Validation(folds=3, bootstraps=2)
    sparse, dense = (fit("lda", rows, y, validation=asked).card for rows in (X, X.toarray()))
    assert sparse.validation == dense.validation
    assert sparse.importance is not None
    assert dense.importance is not None
    np.testing.assert_allclose(sparse.importance.divergence_drop, dense.importance.divergence_drop, atol=1e-6)
    assert sparse.stability is not None
    assert dense.stability is not None
    np.testing.assert_allclose(sparse.stability.loadings.low, dense.stability.loadings.low, atol=1e-6)


@pytest.mark.parametrize("options", [{"regularization": None, "gamma": [0.7, 1.0]}, {"regularization": "path"}])
def test_a_choice_by_held_out_rows_is_that_of_dense_rows(options: dict[str, Any]) -> None:
    X, y = counts(80)
    sparse, dense = (MELM(n_starts=2, random_state=0, **options).fit(rows, y) for rows in (X, X.toarray()))
    assert sparse.model_.card.gamma == dense.model_.card.gamma
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X.toarray()))


@pytest.mark.parametrize("form", [csr_matrix, csc_array, coo_array])
def test_any_form_is_taken(form: Any) -> None:
    X, y = counts(60)
    expected = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
    found = MELM(regularization=None, n_starts=2, random_state=0).fit(form(X), y)
    assert found.divergence_ == expected.divergence_
    np.testing.assert_array_equal(found.transform(form(X)), expected.transform(X))


def test_long_indices_and_duplicates_are_taken_and_left_as_they_were() -> None:
    X, y = counts(60)
    expected = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y).divergence_
    long: Any = csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert MELM(regularization=None, n_starts=2, random_state=0).fit(long, y).divergence_ == expected
    halves: Any = csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    assert MELM(regularization=None, n_starts=2, random_state=0).fit(halves, y).divergence_ == pytest.approx(
        expected, rel=1e-9
    )
    assert halves.nnz == 2 * X.nnz


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_refused(value: float) -> None:
    X, y = counts(60)
    X.data[5] = value
    with pytest.raises(ValueError, match="X contains"):
        MELM(regularization=None, n_starts=2).fit(X, y)


def test_sparse_rows_are_never_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_space, "EXACT", 100)
    monkeypatch.setattr(row_space, "RANK", 20)
    generator = np.random.default_rng(0)
    X: Any = csr_array(random_array((500, 40_000), density=0.002, rng=generator))  # 0.5 MB; filled it has 160 MB
    y = np.arange(500) % 2
    tracemalloc.start()
    try:
        model = fit("melm", X, y, regularization=None, n_starts=2, max_iterations=20, validation=Validation(folds=2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80e6
    assert model.card.n_more_features == 39_000
