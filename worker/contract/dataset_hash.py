"""The canonical hash of a dataset's content.

`sha256:` and the hexadecimal SHA-256 of these bytes, one after the other:

1. UTF-8 JSON with sorted keys, no spaces and no ASCII escapes, of
   `{"dtype": "<f8" or "<f4", "feature_names": [...] or null, "labels": [...], "shape": [n, d]}`, and one newline;
2. the values of X, row by row, little-endian.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def content_hash(X: npt.NDArray[Any], y: npt.NDArray[Any], feature_names: Sequence[str] | None = None) -> str:
    """The hash that names a dataset's content, whoever computes it."""
    dtype = np.dtype(X.dtype).newbyteorder("<")
    header = {
        "dtype": dtype.str,
        "feature_names": None if feature_names is None else list(feature_names),
        "labels": y.tolist(),
        "shape": list(X.shape),
    }
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    digest.update(b"\n")
    digest.update(np.ascontiguousarray(X, dtype).data)
    return f"sha256:{digest.hexdigest()}"
