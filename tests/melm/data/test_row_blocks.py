"""Rows in blocks: sums in one order, rows drawn by their index, and moments as in memory."""

import numpy as np
import pytest

from melm.data.block_moments import BlockMoments
from melm.data.labeled import Labeled
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.row_blocks import ArrayBlocks, RowBlock, add_in_pairs, block_sizes


def made(n_rows: int = 3000, n_features: int = 5, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    y = (np.arange(n_rows) % n_classes).astype(np.int32)
    mixing = np.eye(n_features) + 0.3 * generator.standard_normal((n_features, n_features))
    centers = generator.standard_normal((n_classes, n_features)) + 5
    return generator.standard_normal((n_rows, n_features)) @ mixing + centers[y], y


@pytest.mark.parametrize("n_parts", range(1, 20))
def test_parts_are_added_in_pairs_of_neighbors(n_parts: int) -> None:
    class Text(str):
        def __add__(self, other: str) -> "Text":
            return Text(f"({self!s}{other})")

    def level_by_level(parts: list[str]) -> str:
        while len(parts) > 1:
            parts = [
                f"({''.join(parts[i : i + 2])})" if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)
            ]
        return parts[0]

    letters = [Text(chr(ord("a") + i)) for i in range(n_parts)]
    assert add_in_pairs(iter(letters)) == level_by_level([str(letter) for letter in letters])


def test_lots_depend_on_the_index_of_a_row_only() -> None:
    X, y = made(100)
    whole = RowBlock.consecutive(X, y, 0).uniform(seed=3)
    part = RowBlock.consecutive(X[40:60], y[40:60], 40).uniform(seed=3)
    assert (part == whole[40:60]).all()
    assert (whole != RowBlock.consecutive(X, y, 0).uniform(seed=4)).all()


def test_lots_are_uniform() -> None:
    lots = RowBlock.consecutive(np.zeros((100_000, 1)), np.zeros(100_000, np.int32), 0).uniform(seed=0)
    assert abs(np.histogram(lots, 10, (0, 1))[0] - 10_000).max() < 500
    assert abs(np.corrcoef(lots[1:], lots[:-1])[0, 1]) < 0.02


@pytest.mark.parametrize("kind", ["ledoit_wolf", "empirical"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_problem_is_the_one_of_rows_in_memory(kind: str, ridge: float) -> None:
    X, y = made()
    X[:, 2] = 7  # constant
    blocks = ArrayBlocks(X, y, [700, 700, 700, 700, 200])
    mine = LabeledBlocks.of(blocks, np.arange(3), None, 0).prepare(kind, (), ridge)  # type: ignore[arg-type]
    its = Labeled.check(X, y).prepare(kind, (), ridge)  # type: ignore[arg-type]
    assert mine.counts == its.counts
    np.testing.assert_allclose(mine.rows.scale, its.rows.scale, rtol=1e-12)
    np.testing.assert_allclose(mine.rows.center, its.rows.center, rtol=1e-12)
    np.testing.assert_allclose(mine.whitening.covariances, its.whitening.covariances, atol=1e-11)
    np.testing.assert_allclose(mine.whitening.to_features, its.whitening.to_features, atol=1e-11)
    np.testing.assert_allclose(mine.spread.total, its.spread.total, atol=1e-11)


def test_the_sample_is_the_same_however_rows_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.data.block_moments.SAMPLE_BYTES", 8 * 5 * 300)
    X, y = made()
    drawn = [BlockMoments.of(ArrayBlocks(X, y, sizes), 3, seed=0).drawn for sizes in ([3000], [1000, 1, 1999])]
    assert (drawn[0].rows == drawn[1].rows).all()
    assert np.bincount(drawn[0].codes).tolist() == [100, 100, 100]


def test_blocks_cover_all_rows() -> None:
    assert sum(block_sizes(1_000_001, 30)) == 1_000_001
    assert block_sizes(1_000_001, 30)[0] == 2**16
    assert block_sizes(10, 10**6) == [10]


def test_what_is_not_finite_is_named_with_its_place() -> None:
    X, y = made()
    X[1234, 3] = np.nan
    with pytest.raises(ValueError, match="Row 1234 holds nan in feature 3"):
        BlockMoments.of(ArrayBlocks(X, y, [1000, 2000]), 3, seed=0)


def test_too_many_features_are_refused() -> None:
    X, y = np.zeros((10, 6000)), np.array([0, 1] * 5, dtype=np.int32)
    with pytest.raises(ValueError, match="6000 features in 2 classes are too many"):
        BlockMoments.of(ArrayBlocks(X, y, [10]), 2, seed=0)
