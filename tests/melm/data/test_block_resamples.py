"""Resamples of rows in blocks: a row's fate depends on its index only, and the laws are those of rows in memory."""

import numpy as np
import pytest

from melm.data.block_resamples import ResampledBlocks, resample
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.row_blocks import ArrayBlocks, RowBlock
from melm.plan import Bootstrap, Fold, Resamples, Shuffle

N_ROWS = 30_000
SHARES = np.array([0.7, 0.2, 0.1])


@pytest.fixture(scope="module", name="rows")
def labeled_rows() -> RowBlock:
    generator = np.random.default_rng(0)
    codes = generator.choice(3, N_ROWS, p=SHARES).astype(np.int32)
    return RowBlock.consecutive(generator.standard_normal((N_ROWS, 2)), codes, 0)


def test_every_row_is_held_out_once(rows: RowBlock) -> None:
    seen = [resample(rows, (Fold(i, 5, 0),), SHARES, holds_out=True)[0] for i in range(5)]
    assert np.sort(np.concatenate(seen)).tolist() == list(range(N_ROWS))
    assert all(abs(len(part) - N_ROWS / 5) < 5 * np.sqrt(N_ROWS * 0.16) for part in seen)
    for i, part in enumerate(seen):
        trained = resample(rows, (Fold(i, 5, 0),), SHARES)[0]
        assert np.sort(np.concatenate([part, trained])).tolist() == list(range(N_ROWS))


def test_nested_folds_divide_what_the_outer_one_leaves(rows: RowBlock) -> None:
    outer = set(resample(rows, (Fold(0, 5, 0),), SHARES)[0].tolist())
    inner = [resample(rows, (Fold(0, 5, 0), Fold(i, 5, 0)), SHARES, holds_out=True)[0].tolist() for i in range(5)]
    assert sum(map(len, inner)) == len(outer)
    assert set().union(*inner) == outer


def test_shuffled_labels_keep_the_shares_and_forget_the_rows(rows: RowBlock) -> None:
    places, codes = resample(rows, (Shuffle(3),), SHARES)
    assert len(places) == N_ROWS
    np.testing.assert_allclose(np.bincount(codes) / N_ROWS, SHARES, atol=0.015)
    together = np.histogram2d(rows.codes, codes, bins=3)[0] / N_ROWS
    np.testing.assert_allclose(together, np.outer(SHARES, SHARES), atol=0.015)


def test_a_bootstrap_sample_draws_rows_by_poissons_law(rows: RowBlock) -> None:
    places, codes = resample(rows, (Bootstrap(3),), SHARES)
    times = np.bincount(places, minlength=N_ROWS)
    assert (codes == rows.codes[places]).all()
    np.testing.assert_allclose(np.bincount(times)[:4] / N_ROWS, np.exp(-1) / np.array([1, 1, 2, 6]), atol=0.01)


def test_copies_of_a_row_stay_in_one_fold(rows: RowBlock) -> None:
    shown = resample(rows, (Bootstrap(3), Fold(0, 5, 0)), SHARES)[0]
    hidden = resample(rows, (Bootstrap(3), Fold(0, 5, 0)), SHARES, holds_out=True)[0]
    assert not set(shown.tolist()) & set(hidden.tolist())


@pytest.mark.parametrize("resamples", [(Fold(1, 5, 0),), (Shuffle(1),), (Bootstrap(1), Fold(0, 3, 0))])
def test_what_becomes_of_a_row_does_not_depend_on_its_block(rows: RowBlock, resamples: Resamples) -> None:
    places, codes = resample(rows, resamples, SHARES)
    part = rows.take(np.arange(N_ROWS) >= 12_345)
    some, own = resample(part, resamples, SHARES)
    assert (some + 12_345 == places[places >= 12_345]).all()
    assert (own == codes[places >= 12_345]).all()


def test_resamples_of_different_seeds_and_kinds_are_independent(rows: RowBlock) -> None:
    one = np.zeros(N_ROWS, dtype=bool)
    one[resample(rows, (Fold(0, 2, 0),), SHARES)[0]] = True
    for other in (Fold(0, 2, 1), Bootstrap(0)):
        drawn = np.bincount(resample(rows, (other,), SHARES)[0], minlength=N_ROWS)
        assert abs(np.corrcoef(one, drawn)[0, 1]) < 0.03


def test_the_sample_has_the_folds_of_all_rows(rows: RowBlock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.data.labeled_blocks.SAMPLE_ROWS", 3000)
    blocks = ArrayBlocks(rows.X, rows.codes, [10_000, 20_000])
    data = LabeledBlocks.of(blocks, np.arange(3), None, 0)
    fold = (Fold(2, 5, 0),)
    hidden = set(resample(rows, fold, SHARES, holds_out=True)[0].tolist())
    held_out = data.hold_out(fold).rows
    assert 400 < len(held_out) < 800
    assert set(data.row_numbers(held_out).tolist()) <= hidden
    assert not set(data.row_numbers(data.select(fold).rows).tolist()) & hidden
    assert (rows.X[data.row_numbers(held_out)] == data.X[held_out]).all()
    counts = data.prepare("empirical", fold).counts
    assert sum(counts) == N_ROWS - len(hidden)


def test_held_out_rows_are_tabulated_where_they_are(rows: RowBlock) -> None:
    data = LabeledBlocks.of(ArrayBlocks(rows.X, rows.codes, [10_000, 20_000]), np.arange(3), None, 0)
    fold = (Fold(2, 5, 0),)
    hidden = resample(rows, fold, SHARES, holds_out=True)[0]
    predict = _by_sign
    expected = np.zeros((3, 3))
    np.add.at(expected, (rows.codes[hidden], predict(rows.X[hidden])), 1)
    assert (data.tabulate(fold, predict).counts == expected).all()


def _by_sign(X: np.ndarray) -> np.ndarray:
    return (X[:, 0] > 0).astype(np.intp)


def test_resampled_blocks_are_blocks(rows: RowBlock) -> None:
    blocks = ResampledBlocks(ArrayBlocks(rows.X, rows.codes, [10_000, 20_000]), (Fold(0, 2, 0),), SHARES)
    assert blocks.n_features == 2
    assert blocks.total(_n_rows) == len(resample(rows, (Fold(0, 2, 0),), SHARES)[0])


def _n_rows(block: RowBlock) -> int:
    return len(block.codes)
