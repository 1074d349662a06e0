from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm import MELM
from melm.model import Model
from melm.model import file as model_file
from melm.model.file import ModelFileError
from tests.melm.samples import mixture


@pytest.fixture(scope="module")
def model() -> Model:
    X, y = mixture([40, 30, 20], 5)
    return MELM(regularization=None, n_starts=3, random_state=0).fit(X, np.array(["ä", "b", "long label"])[y]).model_


def arrays_of(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content)) as arrays:
        return dict(arrays)


def content_of(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_a_loaded_model_is_equal_bit_for_bit(model: Model) -> None:
    content = model_file.dump(model)
    loaded = model_file.load(content)
    X = 3 * np.random.default_rng(0).standard_normal((200, 5))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.classes.tolist() == ["b", "long label", "ä"]
    assert loaded.card == model.card
    assert model_file.dump(loaded) == content


def test_an_estimator_is_saved_and_loaded(tmp_path: Path) -> None:
    X, y = mixture([40, 30], 4)
    fitted = MELM(regularization=None, n_starts=3, gamma=0.8, random_state=0).fit(X, y)
    fitted.save(tmp_path / "model.npz")
    loaded = MELM.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.projection_, fitted.projection_)
    assert loaded.divergence_ == fitted.divergence_
    assert loaded.gamma_ == 0.8
    assert loaded.n_features_in_ == 4
    assert [start.divergence for start in loaded.starts_] == [start.divergence for start in fitted.starts_]


def test_every_cut_is_refused(model: Model) -> None:
    content = model_file.dump(model)
    for end in range(0, len(content), 97):
        with pytest.raises(ModelFileError):
            model_file.load(content[:end])


def test_flipped_bytes_are_refused_or_harmless(model: Model) -> None:
    """A checksum stands over every array: a flip is refused, or it hit the archive's own bookkeeping."""
    content = model_file.dump(model)
    for position in range(0, len(content), 61):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        try:
            loaded = model_file.load(bytes(damaged))
        except ModelFileError:
            continue
        np.testing.assert_array_equal(loaded.projection, model.projection)


def test_another_version_is_refused_by_name(model: Model) -> None:
    arrays = arrays_of(model_file.dump(model))
    header = json.loads(arrays["header"].tobytes())
    arrays["header"] = np.frombuffer(json.dumps(header | {"format_version": 99}).encode(), dtype=np.uint8)
    with pytest.raises(ModelFileError, match="version 99"):
        model_file.load(content_of(arrays))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("projection", lambda a: a[:-1], "offset"),
        ("projection", lambda a: a * np.nan, "NaN"),
        ("projection", lambda a: a.astype(np.float32), "float32"),
        ("offset", lambda a: a[:-1], "shape"),
        ("rows", lambda a: a[1:], "shape"),
        ("smoothing", lambda a: -a, "densities of the model file are not valid"),
        ("priors", lambda a: a * 2, "densities of the model file are not valid"),
        ("class_sizes", lambda a: a[1:], "do not fit together"),
        ("class_sizes", lambda a: a.astype(np.str_), "sizes of the model file do not fit"),
        ("classes", lambda a: a[:, None], "do not fit together"),
        ("header", lambda a: a[:-3], "header"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(model: Model, name: str, change: Any, message: str) -> None:
    arrays = arrays_of(model_file.dump(model))
    arrays[name] = change(arrays[name])
    with pytest.raises(ModelFileError, match=message):
        model_file.load(content_of(arrays))


def test_missing_arrays_are_named(model: Model) -> None:
    arrays = arrays_of(model_file.dump(model))
    del arrays["priors"]
    with pytest.raises(ModelFileError, match="priors"):
        model_file.load(content_of(arrays))


def test_pickles_are_refused(model: Model) -> None:
    arrays = arrays_of(model_file.dump(model))
    arrays["classes"] = np.array([{"a": 1}, "b", "c"], dtype=object)
    with pytest.raises(ModelFileError):
        model_file.load(content_of(arrays))


def test_a_zip_bomb_is_refused_before_it_unfolds(model: Model) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("projection.npy", b"\0" * 50_000_000)
    with pytest.raises(ModelFileError, match="compressed"):
        model_file.load(buffer.getvalue())
