from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from melm.comparison.paired_test import compare

scores = st.lists(st.tuples(*[st.floats(0, 1).map(lambda score: round(score, 3))] * 2), min_size=1, max_size=9)


def test_a_method_that_wins_everywhere_is_better() -> None:
    """All of ten differences on one side, none equal: 2 of the 2^10 ways in which signs can fall."""
    better = [0.9 + 0.001 * i for i in range(10)]
    worse = [0.8 - 0.002 * i for i in range(10)]
    found = compare(better, worse)
    assert (found.wins, found.ties, found.losses) == (10, 0, 0)
    assert found.p_value == pytest.approx(2 / 2**10)
    assert found.median_difference == pytest.approx(0.1135)


@settings(max_examples=25)
@given(pairs=scores)
def test_the_other_way_round_is_the_mirror_image(pairs: list[tuple[float, float]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    found, mirrored = compare(left, right), compare(right, left)
    assert (found.wins, found.ties, found.losses) == (mirrored.losses, mirrored.ties, mirrored.wins)
    assert found.median_difference == -mirrored.median_difference
    assert found.p_value == pytest.approx(mirrored.p_value)
    assert 0 < found.p_value <= 1


def test_equal_scores_tell_nothing() -> None:
    assert compare([0.5, 0.7], [0.5, 0.7]).p_value == 1


@pytest.mark.parametrize(("left", "right"), [([], []), ([0.5], [0.5, 0.6]), ([math.nan], [0.5])])
def test_scores_that_are_no_pairs_are_refused(left: list[float], right: list[float]) -> None:
    with pytest.raises(ValueError, match="Scores"):
        compare(left, right)
