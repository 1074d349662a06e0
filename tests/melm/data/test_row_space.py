"""Where features are more than rows, fits in the row space are those in the features: exact, not an approximation."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from melm import MELM, Divergence
from melm.data import row_space
from melm.data.row_space import RowSpace
from melm.data.taken import ScaledRows, Taken
from melm.evidence.validation import Validation
from melm.methods import METHODS, fit
from melm.model import file as model_file
from tests.melm.samples import Array, Labeled

N_ROWS = 40
QUICK: dict[str, dict[str, Any]] = {"melm": {"regularization": None, "n_starts": 2}, "fa": {"max_iterations": 20}}


def wide(n_features: int, n_rows: int = N_ROWS) -> Labeled:
    """Features of all scales, none of them negative; two equal ones, and a constant one."""
    generator = np.random.default_rng(3)
    y = np.arange(n_rows) % 3
    X = np.abs(generator.standard_normal((n_rows, n_features)) * generator.uniform(0.1, 10, n_features) + 1)
    X[:, :3] += y[:, None] * np.array([0.5, 1.0, 2.0])
    X[:, -1], X[:, -2] = X[:, 0], 3.0
    return X, y


def in_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit with a d x d covariance, however many features there are."""
    monkeypatch.setattr(RowSpace, "needed", staticmethod(lambda X, n_rows, n_features: False))


def test_an_orthonormal_basis_holds_the_rows() -> None:
    X, _ = wide(90)
    scaled = ScaledRows.standardize(Taken(X))
    space = RowSpace.of(scaled)
    basis = space.to_features(np.eye(space.coordinates.shape[1]))
    standardized = scaled.columns(np.arange(90))
    np.testing.assert_allclose(basis.T @ basis, np.eye(N_ROWS - 1), atol=1e-12)
    np.testing.assert_allclose(space.coordinates @ basis.T, standardized, atol=1e-12)
    np.testing.assert_allclose(space.from_features(standardized.T), space.coordinates.T, atol=1e-11)
    np.testing.assert_allclose(space.basis(np.array([3, 7])), basis[[3, 7]], atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"ridge": 1.0}, {"covariance": "empirical"}])
@pytest.mark.parametrize("n_features", [N_ROWS - 5, N_ROWS, N_ROWS + 5, 10 * N_ROWS])
def test_a_fit_is_the_one_in_the_features(
    n_features: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = wide(n_features)
    new_rows = wide(n_features, 300)[0]
    found = MELM(regularization=None, n_starts=2, random_state=0, **options).fit(X, y)
    in_features(monkeypatch)
    plain = MELM(regularization=None, n_starts=2, random_state=0, **options).fit(X, y)
    # Where no class has any spread, the empirical divergence is what its floor says, which rounding decides.
    exact = options.get("covariance") != "empirical"
    assert found.divergence_ == pytest.approx(plain.divergence_, rel=1e-8 if exact else 1e-3)
    np.testing.assert_array_equal(found.predict(new_rows), plain.predict(new_rows))
    assert any("minimal one" in warning for warning in found.model_.card.warnings) == (not exact)
    if exact:
        np.testing.assert_allclose(found.projection_, plain.projection_, atol=1e-7)
        for key in ("loadings", "axis_correlations"):
            np.testing.assert_allclose(getattr(found.model_.card, key), getattr(plain.model_.card, key), atol=1e-7)


def test_value_and_gradient_are_those_in_the_features(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wide(100)
    V: Array = np.random.default_rng(0).standard_normal((100, 2))
    value, gradient = Divergence(X, y).value_and_gradient(V)
    in_features(monkeypatch)
    expected, expected_gradient = Divergence(X, y).value_and_gradient(V)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "identity"])
def test_every_method_is_itself_in_the_row_space(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wide(100)
    found = fit(name, X, y, **QUICK.get(name, {}))
    in_features(monkeypatch)
    plain = fit(name, X, y, **QUICK.get(name, {}))
    tolerance = 1e-2 if name == "ica" else 1e-8  # FastICA ends within 1e-4, from where depends on signs
    np.testing.assert_allclose(found.projection, plain.projection, atol=tolerance * np.abs(plain.projection).max())
    new_rows = wide(100, 300)[0]
    np.testing.assert_array_equal(found.predict(new_rows), plain.predict(new_rows))


def test_identity_keeps_all_directions_in_which_the_rows_vary() -> None:
    X, y = wide(100)
    model = fit("identity", X, y)
    assert model.projection.shape == (100, N_ROWS - 1)
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, atol=1e-9)


def test_a_card_names_the_strongest_features_and_the_file_has_the_loadings_of_all() -> None:
    X, y = wide(1_100)
    model = fit("pls", X, y, validation=Validation(folds=2, bootstraps=1))
    card = model.card
    assert card.feature_positions is not None
    assert (len(card.features), card.n_more_features) == (1_000, 100)
    assert card.features == [f"x{j}" for j in card.feature_positions]
    restored = model_file.load(model_file.dump(model))
    assert restored.card == card
    assert restored.standardized_loadings.shape == (1_100, 2)
    np.testing.assert_array_equal(restored.standardized_loadings[card.feature_positions], card.loadings)
    sizes = np.abs(restored.standardized_loadings).max(axis=1)
    left_out = np.delete(sizes, card.feature_positions)
    assert len(left_out) == 100
    assert left_out.max() <= sizes[card.feature_positions].min()
    assert card.stability is not None
    assert np.shape(card.stability.loadings.low) == (1_000, 2)
    assert card.importance is not None
    assert card.importance.n_more_columns == 900
    assert len(card.importance.columns) == len(card.importance.divergence_drop) == 200
    assert {"x0", "x1", "x2"} & set(card.importance.columns)


def test_a_file_whose_card_names_more_features_than_it_says_is_refused() -> None:
    X, y = wide(1_100)
    model = fit("pls", X, y)
    wrong = replace(model, card=model.card.model_copy(update={"n_more_features": 99}))
    with pytest.raises(model_file.ModelFileError, match="1000 entries, the model has 1001 listed features"):
        model_file.load(model_file.dump(wrong))


@pytest.mark.parametrize("name", METHODS)
def test_no_matrix_of_features_by_features(name: str) -> None:
    X, y = wide(3_000, 36)  # 0.9 MB; a matrix of features by features has 72 MB
    tracemalloc.start()
    try:
        fit(name, X, y, **QUICK.get(name, {}))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 36e6


@pytest.mark.parametrize("sparse", [False, True])
def test_of_too_many_rows_and_features_a_stated_number_of_directions_is_kept(
    sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_space, "EXACT", 50)
    monkeypatch.setattr(row_space, "RANK", 30)
    generator = np.random.default_rng(0)
    y = np.arange(200) % 3
    X = generator.standard_normal((200, 8)) @ (5 * generator.standard_normal((8, 300)))
    X += generator.standard_normal((200, 300)) + 0.5 * y[:, None] * generator.standard_normal(300)
    card = (
        MELM(regularization=None, n_starts=2, random_state=0, ridge=1.0)
        .fit(csr_array(X) if sparse else X, y)
        .model_.card
    )
    assert card.reduction is not None
    assert card.reduction.n_directions == 30
    assert card.reduction.between_share == pytest.approx(1, abs=1e-9)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    within = Z - np.stack([Z[y == code].mean(axis=0) for code in range(3)])[y]
    strengths = np.linalg.svd(within)[1] ** 2
    assert 0.9 * strengths[:30].sum() < card.reduction.within_share * strengths.sum() < strengths[:30].sum()
    assert any("reduced to 30 directions" in warning for warning in card.warnings)


def test_directions_that_hold_all_rows_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = generator.standard_normal((120, 10)) @ generator.standard_normal((10, 80)) + y[:, None]
    whole = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
    monkeypatch.setattr(row_space, "EXACT", 50)
    monkeypatch.setattr(row_space, "RANK", 30)
    reduced = MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
    assert reduced.model_.card.reduction is not None
    assert reduced.model_.card.reduction.within_share == pytest.approx(1)
    assert not any("reduced" in warning for warning in reduced.model_.card.warnings)
    np.testing.assert_array_equal(reduced.predict(X), whole.predict(X))
