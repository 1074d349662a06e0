from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from worker.engine.codec import decode, encode
from worker.store.errors import Damaged

arrays = hnp.arrays(
    st.one_of(
        hnp.floating_dtypes(sizes=(32, 64)), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.unicode_string_dtypes()
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | arrays
keys = st.text()
values = st.dictionaries(
    keys, st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=8)
)


def same(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray):
        assert isinstance(right, np.ndarray)
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, dict):
        assert isinstance(right, dict)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        assert isinstance(right, list)
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


@given(values)
def test_what_is_encoded_comes_back_bit_for_bit(value: dict[str, object]) -> None:
    assert same(value, decode(encode(value)))


def test_numpy_scalars_and_tuples_come_back_as_plain_values() -> None:
    assert decode(encode({"a": np.float64(0.1), "b": (1, np.int32(2))})) == {"a": 0.1, "b": [1, 2]}


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_their_layout_and_can_be_written(order: Literal["C", "F"]) -> None:
    array = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], order=order)
    decoded = decode(encode({"a": array, "every second": array[:, ::2]}))
    assert decoded["a"].flags.c_contiguous == (order == "C")
    assert np.array_equal(decoded["a"], array)
    assert np.array_equal(decoded["every second"], array[:, ::2])
    decoded["a"][0, 0] = 7


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="object"):
        encode({"a": np.array([object()])})


WHOLE = encode({"a": np.arange(9)})


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", WHOLE[:-3], WHOLE[:20], WHOLE + b"x", WHOLE.replace(b"<i8", b"|O8")]
)
def test_damage_is_told(data: bytes) -> None:
    with pytest.raises(Damaged):
        decode(data)
