"""What goes over the wire."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from melm.remote import arrays


def test_rows_keep_float32_and_become_float64_otherwise() -> None:
    assert arrays.as_rows(np.ones((2, 2), np.float32)).dtype == np.float32
    for X in ([[1, 2]], np.ones((2, 2), ">f8"), np.ones((2, 2), bool), pd.DataFrame({"a": [1], "b": [2]})):
        assert arrays.as_rows(X).dtype == np.dtype("float64")
    with pytest.raises(ValueError, match="1 dimensions, expected 2"):
        arrays.as_rows([1.0, 2.0])


def test_labels_are_of_one_kind() -> None:
    assert arrays.as_labels(np.array(["a", "b"], dtype=object)).dtype.kind == "U"
    assert arrays.as_labels(pd.Series([1, 2], dtype="int32")).dtype == np.int64
    assert arrays.as_labels([True, False]).dtype == np.bool_
    with pytest.raises(ValueError, match="int, str"):
        arrays.as_labels(np.array(["a", 1], dtype=object))
    with pytest.raises(ValueError, match="datetime64"):
        arrays.as_labels(np.array(["2026-11-18"], dtype="datetime64[D]"))


def test_names_come_from_data_frames_with_named_columns_only() -> None:
    assert arrays.names_of(pd.DataFrame({"a": [1]})) == ["a"]
    assert arrays.names_of(pd.DataFrame([[1]])) is None
    assert arrays.names_of([[1.0]]) is None


def test_nothing_is_unpickled() -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        arrays.write_npy(np.array([object()]))
