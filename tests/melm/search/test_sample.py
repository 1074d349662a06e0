"""Samples: their sizes, how they are shared among the classes, and their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from melm.data.blocks import allot
from melm.data.labeled import Labeled
from melm.search.sample import LEAST_GAIN, SMALLEST, sample, sample_sizes
from tests.melm.samples import mixture


@pytest.mark.parametrize(
    ("n_rows", "sizes"),
    [
        (100, [100]),
        (39_999, [39_999]),
        (40_000, [10_000, 40_000]),
        (100_000, [10_000, 100_000]),
        (1_000_000, [10_000, 100_000, 1_000_000]),
    ],
)
def test_samples_grow_up_to_all_rows(n_rows: int, sizes: list[int]) -> None:
    assert sample_sizes(n_rows) == sizes


@given(st.integers(1, 10**9))
def test_every_step_is_worth_its_while(n_rows: int) -> None:
    sizes = sample_sizes(n_rows)
    assert sizes[-1] == n_rows
    assert all(SMALLEST <= size <= n_rows / LEAST_GAIN for size in sizes[:-1])


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=8), st.integers(100, 20_000))
def test_classes_get_the_same_unless_they_have_less(counts: list[int], n_rows: int) -> None:
    allotted = allot(counts, n_rows)
    most = max(allotted)
    assert sum(allotted) <= n_rows
    assert all(got == count or most - got <= 1 for got, count in zip(allotted, counts, strict=True))


def test_a_rare_class_is_kept_whole() -> None:
    assert allot([1_000_000, 50, 9_000], 10_000) == [4_975, 50, 4_975]


def test_a_sample_draws_rows_within_classes_and_keeps_the_coordinates_of_all() -> None:
    X, y = mixture([400, 300], 4)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    drawn = sample(prepared, 200, seed=3)
    assert drawn.rows.counts == [100, 100]
    assert drawn.whitening.to_features is prepared.whitening.to_features
    assert drawn.whitening.covariances is prepared.whitening.covariances
    for some, whole in zip(drawn.rows.by_class, prepared.rows.by_class, strict=True):
        everything = {row.tobytes() for row in whole}
        assert len({row.tobytes() for row in some}) == len(some)
        assert all(row.tobytes() in everything for row in some)


def test_samples_depend_on_seed_and_size_and_on_nothing_else() -> None:
    X, y = mixture([400, 300], 4)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    first = sample(prepared, 200, seed=3).rows.by_class[0]
    np.testing.assert_array_equal(first, sample(prepared, 200, seed=3).rows.by_class[0])
    assert not np.array_equal(first, sample(prepared, 200, seed=4).rows.by_class[0])
    assert not np.array_equal(first[:90], sample(prepared, 180, seed=3).rows.by_class[0])
