"""Arrays in requests and responses: NumPy's npy and npz, without pickle."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.tables.sparse import arrays_of, canonical, is_sparse
from melm.typing import AnyArray, Matrix

NPY = "application/x-npy"
NPZ = "application/x-npz"
LABEL_TYPES = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": np.str_}


def as_rows(X: Any) -> Matrix:
    """Numbers for the service: float32 is kept, other types become float64; a sparse matrix becomes CSR."""
    if is_sparse(X):
        return canonical(X if X.dtype == np.float32 else X.astype(np.float64))
    rows = np.asarray(X)
    dtype = np.float32 if rows.dtype.newbyteorder("=") == np.float32 else np.float64
    rows = np.ascontiguousarray(rows, dtype=dtype)
    if rows.ndim != 2:
        raise ValueError(f"X has {rows.ndim} dimensions, expected 2: rows by columns.")
    return rows


def as_labels(y: npt.ArrayLike) -> AnyArray:
    """Labels for the service: all strings, all integers, all numbers or all booleans."""
    labels = np.asarray(y)
    if labels.dtype == object:
        kinds = {type(label) for label in labels.tolist()}
        if kinds != {str} and not kinds <= {int, float} and kinds != {bool}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"y holds labels of types {names}, expected one of str, int, float and bool.")
        labels = np.array(labels.tolist())
    if labels.dtype.kind not in LABEL_TYPES:
        raise ValueError(f"y holds {labels.dtype} values, expected text, numbers or booleans.")
    return np.ascontiguousarray(labels, dtype=LABEL_TYPES[labels.dtype.kind])


def names_of(X: object) -> list[str] | None:
    """The column names of a data frame; None for everything else."""
    of_arrow: Any = getattr(X, "column_names", None)
    names = list(getattr(X, "columns", ()) if of_arrow is None else of_arrow)
    return names if names and all(isinstance(name, str) for name in names) else None


def write_npy(values: AnyArray) -> bytes:
    """An npy file."""
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


def write_rows(X: Matrix, **others: AnyArray) -> tuple[bytes, str]:
    """Rows as npy, or as npz if they are sparse or there are other arrays; also returns the media type."""
    if is_sparse(X):
        return write_npz(**arrays_of(X), **others), NPZ
    return (write_npz(X=X, **others), NPZ) if others else (write_npy(X), NPY)


def write_npz(**arrays: AnyArray) -> bytes:
    """An npz file, uncompressed."""
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def read(content: bytes) -> Any:
    """The array of an npy file, or the arrays of an npz file by name."""
    return np.load(io.BytesIO(content), allow_pickle=False)
