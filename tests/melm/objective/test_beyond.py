"""The divergence of rows beyond memory is that of the same rows in memory."""

import numpy as np
import pytest

from melm.data.labeled import Labeled
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.row_blocks import ArrayBlocks
from melm.objective.beyond import BlockDivergence, divergence_on
from melm.objective.divergence import WhitenedDivergence


def made(apart: float, n_far: int = 0, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    y = (np.arange(6000) % 3).astype(np.int32)
    X = generator.standard_normal((6000, 4))
    X[y == 0] *= spread
    X += apart * generator.standard_normal((3, 4))[y]
    X[generator.integers(0, 6000, n_far)] *= 30
    return X, y


@pytest.mark.parametrize(
    ("n_components", "apart", "n_far", "spread"),
    [(1, 0.7, 20, 1.0), (2, 0.7, 0, 1.0), (2, 0.7, 20, 1.0), (2, 2.5, 0, 1.0), (2, 0.5, 20, 100.0), (3, 0.7, 0, 1.0)],
)
def test_value_and_gradient(n_components: int, apart: float, n_far: int, spread: float) -> None:
    X, y = made(apart, n_far, spread)
    blocks = ArrayBlocks(X, y, [1700, 1700, 1700, 900])
    mine = divergence_on(
        LabeledBlocks.of(blocks, np.arange(3), None, 0).prepare("empirical"), n_components, 1.0, "auto"
    )
    assert isinstance(mine, BlockDivergence)
    prepared = Labeled.check(X, y).prepare("empirical")
    its = WhitenedDivergence(prepared, n_components)
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((prepared.n_dimensions, n_components)))[0]
    value, gradient = mine.value_and_gradient(V)
    expected, slope = its.value_and_gradient(V)
    assert value == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(gradient, slope, atol=1e-5 * np.abs(slope).max())
    assert mine.value(V) == value


def test_rows_outside_the_box_of_the_sample_are_summed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.data.block_moments.SAMPLE_BYTES", 8 * 4 * 600)
    X, y = made(0.7, n_far=20)
    blocks = ArrayBlocks(X, y, [2000, 2000, 2000])
    prepared = LabeledBlocks.of(blocks, np.arange(3), None, 0).prepare("empirical")
    assert sum(prepared.rows.counts) == 600
    mine = divergence_on(prepared, 2, 1.0, "auto")
    its = WhitenedDivergence(Labeled.check(X, y).prepare("empirical"), 2)
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 2)))[0]
    assert mine.value(V) == pytest.approx(its.value(V), abs=1e-6)


def test_classes_too_far_apart_are_judged_on_the_sample() -> None:
    X, y = made(40.0)
    prepared = LabeledBlocks.of(ArrayBlocks(X, y, [3000, 3000]), np.arange(3), None, 0).prepare("empirical")
    V = np.eye(4)[:, :2]
    value, gradient = divergence_on(prepared, 2, 1.0, "auto").value_and_gradient(V)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(WhitenedDivergence(Labeled.check(X, y).prepare("empirical"), 2).value(V))


def test_more_than_three_components_are_refused() -> None:
    X, y = made(1.0)
    prepared = LabeledBlocks.of(ArrayBlocks(X, y, [6000]), np.arange(3), None, 0).prepare("empirical")
    with pytest.raises(ValueError, match="at most 3 components"):
        divergence_on(prepared, 4, 1.0, "auto")
