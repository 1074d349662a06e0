from __future__ import annotations

import numpy as np
import pytest

from melm.search.choice import average, balanced_scores, is_guessing, win_shares
from tests.melm.samples import projection

CODES = np.array([0] * 90 + [1] * 10)


def test_classes_weigh_alike() -> None:
    logs = np.column_stack([np.where(CODES == 0, -1.0, -3.0), np.full(100, -1.5)])
    assert balanced_scores(logs, CODES).tolist() == pytest.approx([-2.0, -1.5])
    assert win_shares(logs, CODES, 0).tolist() == [0.0, 1.0]


def test_candidates_that_rows_cannot_tell_apart_share() -> None:
    logs = -np.random.default_rng(0).exponential(size=(100, 3))
    logs[:, 2] -= 2
    shares = win_shares(logs, CODES, 0)
    assert shares.sum() == pytest.approx(1)
    assert 0.02 < shares[0] < 0.98
    assert shares[2] == 0
    assert shares.tolist() == win_shares(logs, CODES, 0).tolist()


def test_a_candidate_without_a_score_never_wins() -> None:
    logs = np.column_stack([np.full(100, -2.0), np.zeros(100)])
    logs[7, 1] = np.nan
    assert win_shares(logs, CODES, 0).tolist() == [1.0, 0.0]


def test_guessing_is_what_equal_probabilities_would_do() -> None:
    noise = np.random.default_rng(0).standard_normal(100)
    assert is_guessing(np.log(0.5) + 0.02 + noise, CODES, 0)
    assert is_guessing(np.log(0.5) - 0.2 + 0.1 * noise, CODES, 0)
    assert not is_guessing(np.log(0.5) + 0.2 + 0.1 * noise, CODES, 0)


def test_the_average_is_the_nearest_subspace() -> None:
    V = np.linalg.qr(projection(6, 2))[0]
    same = average([V, V @ [[2.0, 1.0], [0.0, 1.0]]], np.array([0.5, 0.5]))
    np.testing.assert_allclose(same @ same.T, V @ V.T, atol=1e-12)
    other = np.linalg.qr(projection(6, 2, seed=1))[0]
    nearer = average([V, other], np.array([0.9, 0.1]))
    assert np.linalg.norm(nearer.T @ V) > np.linalg.norm(nearer.T @ other)
