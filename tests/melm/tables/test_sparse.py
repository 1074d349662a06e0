"""Sparse matrices in one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from melm.tables.content_hash import content_hash
from melm.tables.sparse import arrays_of, canonical, describe_fault

DENSE = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [-3, 0, 0, 4]])
LABELS = np.array([0, 1, 0])


def with_zeros_and_duplicates() -> Any:
    """The same matrix: a cell in two parts, a zero that is stored, columns in no order."""
    data, columns, begins = [2, 1.0, 0.5, 0.0, 4, -3], [3, 1, 1, 0, 3, 0], [0, 4, 4, 6]
    return csr_array((np.array(data, np.float64), np.array(columns), np.array(begins)), shape=(3, 4))


@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array, coo_array])
def test_every_form_has_one_canonical_form_and_one_hash(form: Any) -> None:
    rows = canonical(form(DENSE))
    np.testing.assert_array_equal(rows.toarray(), DENSE)
    assert rows.nnz == 4
    assert content_hash(form(DENSE), LABELS) == content_hash(csr_array(DENSE), LABELS)


def test_zeros_and_duplicates_do_not_count_and_stay_with_their_owner() -> None:
    X = with_zeros_and_duplicates()
    assert content_hash(X, LABELS) == content_hash(csr_array(DENSE), LABELS)
    assert X.nnz == 6
    long = csr_array(DENSE)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert content_hash(long, LABELS) == content_hash(csr_array(DENSE), LABELS)


def test_everything_in_a_sparse_matrix_counts() -> None:
    moved, wider, other = DENSE[:, ::-1], np.hstack([DENSE, np.zeros((3, 1))]), DENSE * 2
    hashes = {content_hash(csr_array(X), LABELS) for X in (DENSE, moved, wider, other, DENSE.astype(np.float32))}
    assert len(hashes | {content_hash(DENSE, LABELS)}) == 6


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"format": np.array("csc"), "shape": np.array([4, 3])}, None),
        ({"format": np.array(b"coo")}, "csr or csc"),
        ({"format": np.array([b"csr", b"csr"])}, "csr or csc"),
        ({"shape": np.array([3, 4, 1])}, "two whole numbers"),
        ({"shape": np.array([3.0, 4.0])}, "two whole numbers"),
        ({"shape": np.array([-3, 4])}, "two whole numbers"),
        ({"shape": np.array([2, 4])}, "does not divide 4 cells among 2"),
        ({"shape": np.array([3, 3])}, "not all from 0 to 2"),
        ({"data": np.array(["a"] * 4)}, "not numbers"),
        ({"data": np.ones(3)}, "not as long as each other"),
        ({"data": np.ones((4, 1))}, "not as long as each other"),
        ({"indices": np.ones(4)}, "whole numbers"),
        ({"indices": np.array([1, 3, 0, -1])}, "not all from 0 to 3"),
        ({"indptr": np.array([0, 3, 2, 4])}, "does not divide"),
        ({"indptr": np.array([1, 2, 2, 4])}, "does not divide"),
        ({"indptr": np.array([0, 2, 2, 5])}, "does not divide"),
    ],
)
def test_what_is_no_matrix_is_told(changed: dict[str, npt.NDArray[Any]], fault: str | None) -> None:
    found = describe_fault(arrays_of(csr_array(DENSE)) | changed)
    assert found is None if fault is None else found is not None and fault in found


def test_a_missing_array_is_told() -> None:
    arrays = arrays_of(csr_array(DENSE))
    del arrays["indices"]
    assert describe_fault(arrays) == "the array indices of a sparse matrix is missing"
