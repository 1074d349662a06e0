"""Unit arguments and results as bytes: an npz file without pickle, whose JSON part names the arrays.

`decode(encode(value))` gives the same JSON values and the same array bits. Tuples come back as lists.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from worker.contract.errors import Damaged

PLACE = "__array__"  # {"__array__": 3} in the JSON part stands for the third array


def encode(value: dict[str, Any]) -> bytes:
    """The bytes of a dict of JSON values and arrays, nested as they may be."""
    arrays: list[np.ndarray[Any, Any]] = []
    text = json.dumps(_take_arrays(value, arrays))
    if not arrays:
        return text.encode()
    file = io.BytesIO()
    parts = {f"array_{index}": array for index, array in enumerate(arrays)}
    np.savez(file, allow_pickle=False, json=np.frombuffer(text.encode(), np.uint8), **parts)
    return file.getvalue()


def decode(data: bytes) -> dict[str, Any]:
    """The dict that was encoded."""
    try:
        if not data.startswith(b"PK"):
            value = json.loads(data)
        else:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                value = _put_arrays(json.loads(file["json"].tobytes()), file)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise Damaged(f"A stored value cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise Damaged("A stored value is not a dict.")
    return value


def _take_arrays(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """The value with every array moved to the list and a place left for it."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
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


def _put_arrays(value: Any, file: Any) -> Any:
    if isinstance(value, dict):
        if PLACE in value:
            return file[f"array_{value[PLACE]}"]
        return {key: _put_arrays(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_arrays(item, file) for item in value]
    return value
