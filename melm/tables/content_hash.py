"""The canonical hash of a dataset's content.

`sha256:` and the hexadecimal SHA-256 of these bytes, one after the other:

1. UTF-8 JSON with sorted keys, no spaces and no ASCII escapes, of
   `{"dtype": "<f8" or "<f4", "feature_names": [...] or null, "labels": [...], "shape": [n, d]}`, and one newline;
2. the values of X, row by row, little-endian.

A table with text, missing values, ids or groups has more keys in its header: `"categories": [[...], ...]` (the sorted
values of each column of text), `"groups": [...] or null`, `"id_name": "..." or null`, `"ids": [...] or null`,
`"text_names": [...]`. X holds its columns of numbers, with the NaN of bits 7ff8000000000000 for missing values;
`feature_names` names all columns and `shape` is that of X. After X come the codes of the columns of text (indices into
`categories`, -1 for missing values), row by row, as little-endian 32-bit integers.

A sparse matrix has `"n_nonzero": m` in its header, the number of cells that are not zero. Instead of X come its rows in
CSR form, columns in order: m values, m column indices as little-endian 32-bit integers, and n + 1 row offsets as
little-endian 64-bit integers.

If a table has them, `"day_first": [...]`, `"time_names": [...]` and `"weights": [...]` are in the header as well:
columns of numbers that are days since 1970-01-01, and the weights of the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from melm.tables.sparse import canonical, is_sparse
from melm.typing import Matrix


class TablePart(Protocol):
    """The parts of a table other than its matrix of numbers."""

    @property
    def text_names(self) -> tuple[str, ...]: ...
    @property
    def codes(self) -> npt.NDArray[np.int32]: ...
    @property
    def categories(self) -> tuple[tuple[str, ...], ...]: ...
    @property
    def ids(self) -> npt.NDArray[Any] | None: ...
    @property
    def id_name(self) -> str | None: ...
    @property
    def groups(self) -> npt.NDArray[Any] | None: ...
    @property
    def weights(self) -> npt.NDArray[Any] | None: ...
    @property
    def time_names(self) -> tuple[str, ...]: ...
    @property
    def day_first(self) -> tuple[str, ...]: ...


def content_hash(
    X: Matrix,
    y: npt.NDArray[Any],
    feature_names: Sequence[str] | None = None,
    part: TablePart | None = None,
) -> str:
    """The content hash of a dataset: client and service compute the same."""
    dtype = np.dtype(X.dtype).newbyteorder("<")
    header: dict[str, Any] = {
        "dtype": dtype.str,
        "feature_names": None if feature_names is None else list(feature_names),
        "labels": y.tolist(),
        "shape": list(X.shape),
    }
    if is_sparse(X):
        X = canonical(X)
        header["n_nonzero"] = X.nnz
    if part is not None:
        header |= {
            "categories": part.categories,
            "groups": None if part.groups is None else part.groups.tolist(),
            "id_name": part.id_name,
            "ids": None if part.ids is None else part.ids.tolist(),
            "text_names": part.text_names,
        }
        header |= {} if part.weights is None else {"weights": part.weights.tolist()}
        header |= {"time_names": part.time_names, "day_first": part.day_first} if part.time_names else {}
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    digest.update(b"\n")
    if is_sparse(X):
        for array, kind in ((X.data, dtype), (X.indices, "<i4"), (X.indptr, "<i8")):
            digest.update(np.ascontiguousarray(array, kind).data)
    else:
        digest.update(np.ascontiguousarray(X, dtype).data)
    if part is not None:
        digest.update(np.ascontiguousarray(part.codes, "<i4").data)
    return f"sha256:{digest.hexdigest()}"
