"""Sparse matrices in one form, and as the arrays that SciPy's own npz files hold.

SciPy is not imported, to keep the client light: it only uses the matrices of its caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from melm.typing import AnyArray, Matrix

FORMAT, SHAPE, DATA, INDICES, INDPTR = NAMES = ("format", "shape", "data", "indices", "indptr")  # of the npz file


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy, recognized by a method that only these have."""

    def tocsr(self) -> Any: ...


def is_sparse(X: object) -> bool:
    """Whether it is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr")


def canonical(X: Matrix) -> Matrix:
    """The matrix as CSR without duplicates or explicit zeros, columns in order; copied only if it must be."""
    rows = X.tocsr()
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def arrays_of(X: Matrix) -> dict[str, AnyArray]:
    """The arrays of the npz file that `scipy.sparse.save_npz` would write of a CSR matrix."""
    shape = np.array(X.shape)
    return {FORMAT: np.array(b"csr"), SHAPE: shape, DATA: X.data, INDICES: X.indices, INDPTR: X.indptr}


def describe_fault(arrays: Mapping[str, AnyArray]) -> str | None:
    """The reason why the arrays of an npz file are not a matrix in CSR or CSC form; None if they are."""
    missing = [name for name in NAMES if name not in arrays]
    if missing:
        return f"the array {missing[0]} of a sparse matrix is missing"
    form, shape, data, indices, indptr = (arrays[name] for name in NAMES)
    if form.dtype.kind not in "SU" or form.size != 1 or _text(form) not in ("csr", "csc"):
        return "the format of a sparse matrix is csr or csc"
    if shape.dtype.kind not in "iu" or shape.shape != (2,) or shape.min() < 0:
        return "the shape of a sparse matrix is two whole numbers"
    if data.dtype.kind not in "fiub":
        return f"data holds {data.dtype} values, not numbers"
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        return "indices and indptr hold whole numbers"
    if not data.ndim == indices.ndim == indptr.ndim == 1 or len(data) != len(indices):
        return "data and indices are not as long as each other"
    n_lines, n_across = map(int, shape if _text(form) == "csr" else shape[::-1])
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        return f"indptr does not divide {len(data)} cells among {n_lines} rows or columns"
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n_across:
        return f"indices are not all from 0 to {n_across - 1}"
    return None


def _text(form: AnyArray) -> str:
    value = form.item()
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
