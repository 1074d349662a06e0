import hashlib

import numpy as np
import pytest

from melm.tables.content_hash import content_hash


def test_the_canonical_form() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    header = '{"dtype":"<f8","feature_names":["höhe","b"],"labels":["x","y"],"shape":[2,2]}\n'
    digest = hashlib.sha256(header.encode() + X.astype("<f8").tobytes()).hexdigest()
    assert content_hash(X, np.array(["x", "y"]), ["höhe", "b"]) == f"sha256:{digest}"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8"])
def test_the_layout_in_memory_does_not_matter(order: str, dtype: str) -> None:
    X = np.arange(6.0).reshape(2, 3)
    y = np.array([0, 1])
    assert content_hash(np.asarray(X, dtype, order=order), y) == content_hash(X, y)  # type: ignore[call-overload]


def test_everything_counts() -> None:
    X, y = np.arange(6.0).reshape(2, 3), np.array([0, 1])
    hashes = {
        content_hash(X, y),
        content_hash(X.astype(np.float32), y),
        content_hash(X.reshape(3, 2), np.array([0, 1, 1])),
        content_hash(X + 1, y),
        content_hash(X, y.astype(str)),
        content_hash(X, y.astype(float)),
        content_hash(X, y.astype(bool)),
        content_hash(X, y, ["a", "b", "c"]),
    }
    assert len(hashes) == 8
