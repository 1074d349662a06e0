"""npy files in memory. What codecs make of broken ones is tested with them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from melm.tables import npy


def written(array: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
        np.array(["a", "größer"]),
        np.array(True),
        np.empty((0, 3), np.float32),
    ],
)
def test_what_numpy_writes_is_read_without_a_copy(array: npt.NDArray[Any]) -> None:
    content = written(array)
    found = npy.read(content)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert array.size == 0 or np.shares_memory(found, np.frombuffer(content, np.uint8))


def test_objects_are_refused() -> None:
    with pytest.raises(npy.NpyError, match="holds object values"):
        npy.read(written(np.array([None])))


def test_headers_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's parser, which NumPy uses for them, may fail in threads."""
    seen = []
    read_header = npy.HEADERS[1, 0]

    def watch(stream: Any) -> Any:
        seen.append(npy.ONE_AT_A_TIME.locked())
        return read_header(stream)

    monkeypatch.setitem(npy.HEADERS, (1, 0), watch)
    npy.read(written(np.zeros(3)))
    assert seen == [True]
