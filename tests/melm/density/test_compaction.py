"""Densities held by fewer rows."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest

from melm import MELM
from melm.density import compaction
from melm.density.compaction import compact
from melm.evidence.card import describe_density
from melm.model import Model
from melm.model import file as model_file
from melm.model.card import Density
from melm.model.file import ModelFileError
from melm.typing import Array
from tests.melm.density.samples import densities, queries
from tests.melm.samples import mixture


def test_small_densities_stay_as_they_are() -> None:
    chosen = densities(2)
    assert compact(chosen) is chosen
    assert describe_density(3000, chosen, chosen) == Density(n_rows=3000, n_stored_rows=3000, cell=None)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("k", "n_rows"), [(1, 300_000), (2, 200_000)])
def test_fewer_rows_say_the_same(k: int, n_rows: int, heavy: bool) -> None:
    chosen = densities(k, n_rows, heavy=heavy)
    stored = compact(chosen)
    assert stored.weights is not None
    assert sum(map(len, stored.rows)) < n_rows / 5
    for rows, weights, whole in zip(stored.rows, stored.weights, chosen.rows, strict=True):
        assert weights.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(weights @ rows, whole.mean(axis=0), rtol=1e-9, atol=1e-12)
    Z = queries(chosen)[:-1]
    error = stored.log_densities(Z) - chosen.log_densities(Z)
    assert np.sqrt(np.square(error).mean()) < 5e-3
    facts = describe_density(n_rows, chosen, stored).model_dump()
    assert facts["n_stored_rows"] == sum(map(len, stored.rows))
    assert facts["log_density_error"] < 3e-3
    assert facts["log_density_error"] < facts["largest_log_density_error"]
    assert facts["labels_changed"] < 1e-3


def test_what_would_not_become_much_smaller_is_left_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BYTES", 0)
    chosen = densities(3)
    assert compact(chosen) is chosen
    assert compact(densities(4)).weights is None


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model with fewer rows than it was fitted to."""
    monkeypatch.setattr(compaction, "COMPACT_BYTES", 0)
    X, y = mixture([3000, 3000], 3)
    return MELM(1, regularization=None, n_starts=1, random_state=0).fit(X, y).model_


def test_a_model_file_holds_the_weights(model: Model) -> None:
    assert model.densities.weights is not None
    assert model.card.model_dump()["density"]["n_stored_rows"] == sum(map(len, model.densities.rows)) < 3000
    loaded = model_file.load(model_file.dump(model))
    X = 3 * np.random.default_rng(0).standard_normal((200, 3))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert model_file.dump(loaded) == model_file.dump(model)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda weights: weights[:-1], "weights.*shape"),
        (lambda weights: -weights, "not shares"),
        (lambda weights: weights / 2, "not shares that add up to 1 in each class"),
        (lambda weights: weights * np.nan, "NaN"),
        (lambda weights: weights.astype(np.float32), "float64"),
    ],
)
def test_weights_that_are_none_are_refused(model: Model, damage: Callable[[Array], Array], message: str) -> None:
    with np.load(io.BytesIO(model_file.dump(model))) as file:
        arrays = dict(file)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays | {"weights": damage(arrays["weights"])})
    with pytest.raises(ModelFileError, match=message):
        model_file.load(buffer.getvalue())
