"""Unit arguments and results as bytes: MessagePack, with arrays as an extension type. No pickle.

The round trip `decode(encode(value))` preserves all values, and the bits and memory layout of arrays. Tuples become
lists.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from worker.store.errors import Damaged

ARRAY = 1  # the extension's code
KINDS = "biufcUS"  # of arrays whose bytes are their values


def encode(value: dict[str, Any]) -> bytes:
    """Encode a dict of JSON values and arrays, which may be nested."""
    return _encoder.encode(value)


def decode(data: bytes) -> dict[str, Any]:
    """The dict that was encoded."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise Damaged(f"A stored value cannot be read: {error}") from error


def _from_array(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in KINDS:
        raise ValueError(f"A value of type {getattr(value, 'dtype', type(value))} cannot be encoded.")
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    parts = (value.dtype.str, value.shape, order, value.tobytes("A"))
    return msgspec.msgpack.Ext(ARRAY, msgspec.msgpack.encode(parts))


def _to_array(code: int, data: memoryview) -> object:
    if code != ARRAY:
        raise ValueError(f"{code} is no known extension.")
    dtype, shape, order, values = msgspec.msgpack.decode(data)
    return np.frombuffer(values, dtype).reshape(shape, order=order).copy(order=order)


_encoder = msgspec.msgpack.Encoder(enc_hook=_from_array)
_decoder = msgspec.msgpack.Decoder(dict[str, Any], ext_hook=_to_array)
