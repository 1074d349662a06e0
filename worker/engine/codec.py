"""Unit arguments and results as bytes: JSON that names the arrays, then their raw values. No pickle.

    8 bytes   length of the JSON, little-endian
    JSON      {"value": ..., "arrays": [[dtype, shape, order], ...]}
    values    of all arrays, one after the other

`decode(encode(value))` gives the same JSON values and the same array bits. Tuples come back as lists. Not an npz file,
because reading one takes thirty times as long, and a plan reads the results of all units before it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from worker.store.errors import Damaged

Array = npt.NDArray[Any]
PLACE = "__array__"  # {"__array__": 3} in the JSON part stands for the third array
KINDS = "biufcUS"  # of arrays whose values are their bytes


def encode(value: dict[str, Any]) -> bytes:
    """The bytes of a dict of JSON values and arrays, nested as they may be."""
    arrays: list[Array] = []
    described = _take_arrays(value, arrays)
    kinds = [(array.dtype.str, array.shape, "C" if array.flags.c_contiguous else "F") for array in arrays]
    text = json.dumps({"value": described, "arrays": kinds}).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes("A") for array in arrays)])


def decode(data: bytes) -> dict[str, Any]:
    """The dict that was encoded."""
    try:
        end = 8 + int.from_bytes(data[:8], "little")
        parsed = json.loads(data[8:end])
        arrays = []
        for dtype, shape, order in parsed["arrays"]:
            count = math.prod(shape)
            array = np.frombuffer(data, dtype, count, end) if count else np.empty(0, dtype)
            arrays.append(array.reshape(shape, order=order).copy(order=order))
            end += array.nbytes
        value = _put_arrays(parsed["value"], arrays)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Damaged(f"A stored value cannot be read: {error}") from error
    if not isinstance(value, dict) or end != len(data):
        raise Damaged("A stored value is not what was encoded.")
    return value


def _take_arrays(value: Any, arrays: list[Array]) -> Any:
    """The value with every array moved to the list and a place left for it."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise ValueError(f"An array of {value.dtype} cannot be encoded.")
        arrays.append(value if value.flags.c_contiguous or value.flags.f_contiguous else np.ascontiguousarray(value))
        return {PLACE: len(arrays) - 1}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        if PLACE in value:
            raise ValueError(f"The key {PLACE!r} is reserved.")
        return {key: _take_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_take_arrays(item, arrays) for item in value]
    return value


def _put_arrays(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, dict):
        if PLACE in value:
            return arrays[value[PLACE]]
        return {key: _put_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_arrays(item, arrays) for item in value]
    return value
