from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from melm.data.prepared_rows import PreparedRows
from melm.density.projected import class_densities
from melm.evidence import evaluate
from melm.evidence.evaluate import balanced_accuracy, leave_one_out_balanced_accuracy
from tests.melm.samples import mixture


@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_balanced_accuracy_equals_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    codes, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    present = np.unique(codes)
    expected = np.mean([(predicted[codes == code] == code).mean() for code in present])
    assert balanced_accuracy(codes, predicted) == pytest.approx(expected)
    if set(predicted) <= set(codes) and len(present) > 1:  # elsewhere scikit-learn warns
        assert balanced_accuracy(codes, predicted) == pytest.approx(balanced_accuracy_score(codes, predicted))


def test_guessing_one_class_gives_chance_however_unbalanced() -> None:
    assert balanced_accuracy(np.array([0] * 99 + [1]), np.zeros(100)) == 0.5


def leave_one_out(**options: Any) -> tuple[float, float]:
    """By the library, and by fitting anew without each row, kernel widths kept."""
    X, y = mixture([30, 20], 2)
    prepared = PreparedRows.prepare(X, y, 2, "empirical")
    densities = class_densities(prepared, np.eye(2), 1.0, "balanced")
    predicted = []
    for code, rows in enumerate(densities.rows):
        for i in range(len(rows)):
            others = [np.delete(r, i, axis=0) if c == code else r for c, r in enumerate(densities.rows)]
            without = type(densities)(others, densities.smoothing, densities.priors)
            predicted.append(without.log_posteriors(rows[i : i + 1]).argmax())
    codes = np.repeat([0, 1], [len(rows) for rows in densities.rows])
    return leave_one_out_balanced_accuracy(densities), balanced_accuracy(codes, np.array(predicted))


def test_leave_one_out_equals_leaving_out() -> None:
    quick, slow = leave_one_out()
    assert quick == pytest.approx(slow)


def test_large_data_sets_are_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = leave_one_out()
    monkeypatch.setattr(evaluate, "JUDGED_ROWS", 25)
    sample, _ = leave_one_out()
    assert sample == pytest.approx(whole, abs=0.25)
