"""NumPy's npy files in memory, read as views of their bytes: no copy, no pickle, and safe in threads."""

from __future__ import annotations

import io
import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 16_384  # more than any header needs: most are 128 bytes long
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
KINDS = "fiubUS"  # numbers, booleans and text

# NumPy reads a header by `ast`, which fails once in a while when a garbage collection lets another thread in.
ONE_AT_A_TIME = threading.Lock()


class NpyError(ValueError):
    """The bytes are not an array. The message is a predicate, to follow "this file"."""


def read(data: bytes | memoryview) -> npt.NDArray[Any]:
    """The array in an npy file, read-only. Its declared shape must match the number of bytes."""
    stream = io.BytesIO(memoryview(data)[:HEADER_BYTES])
    try:
        read_header = HEADERS[np.lib.format.read_magic(stream)]
        with ONE_AT_A_TIME:
            shape, fortran_order, dtype = read_header(stream)
    except Exception:  # NumPy's parser raises many types for malformed headers
        raise NpyError("is not an npy file") from None
    if dtype.kind not in KINDS:
        raise NpyError(f"holds {dtype} values; numbers, booleans and text are read")
    offset = stream.tell()
    n_bytes = len(data) - offset
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != n_bytes:
        raise NpyError(f"declares {dtype} of shape {shape}, which is not what its {n_bytes} bytes hold")
    try:
        return np.frombuffer(data, dtype, offset=offset).reshape(shape, order="F" if fortran_order else "C")
    except (ValueError, TypeError):  # impossible dimensions or item sizes
        raise NpyError(f"declares {dtype} of shape {shape}, which no array has") from None
