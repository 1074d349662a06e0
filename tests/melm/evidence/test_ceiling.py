"""What all columns can do, beside a picture."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from melm.data.labeled import Labeled
from melm.evidence import ceiling
from melm.evidence.validation import Validation
from melm.methods import METHODS, fit, plan_fit, run_unit
from melm.plan import Result, Stage, run_plan

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((160, 4))
CODES = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)  # no straight line tells them apart


def test_the_ceiling_is_above_a_picture_that_cannot_show_it() -> None:
    card = fit("lda", X, CODES, validation=Validation(3, ceiling=True)).card
    assert card.ceiling is not None
    assert card.ceiling.balanced_accuracy == pytest.approx(np.mean(card.ceiling.scores))
    assert len(card.ceiling.scores) == 3
    assert card.ceiling.balanced_accuracy > 0.8
    assert card.validation is not None
    assert card.validation.balanced_accuracy < 0.7
    assert card.missing_evidence == []
    assert card.verdict is not None
    assert "gradient boosting on all features" in card.verdict.sentence


def test_its_rows_are_held_out_and_its_labels_can_be_permuted() -> None:
    card = fit("lda", X, GENERATOR.permutation(CODES), validation=Validation(3, ceiling=True)).card
    assert card.ceiling is not None
    assert card.ceiling.balanced_accuracy < 0.65


def test_without_being_asked_for_it_is_not_there() -> None:
    card = fit("lda", X, CODES, validation=Validation(3)).card
    assert card.ceiling is None
    assert card.missing_evidence == []


def test_what_is_too_large_has_none_and_misses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceiling, "MAX_FEATURES", 3)
    card = fit("lda", X, CODES, validation=Validation(3, ceiling=True)).card
    assert card.ceiling is None
    assert card.missing_evidence == []
    assert not ceiling.is_affordable(Labeled.check(csr_array(X[:, :2]), CODES))


def test_one_that_was_cut_short_is_named_as_missing() -> None:
    data = Labeled.check(X, CODES)
    parameters = METHODS["lda"].Parameters()

    def run_stage(stage: Stage) -> list[Result | None]:
        return [
            None if unit.name == "ceiling fold 0.1" else run_unit("lda", data, parameters, unit) for unit in stage.units
        ]

    card = run_plan(plan_fit("lda", data, parameters, Validation(3, ceiling=True)), run_stage).card
    assert card.ceiling is None
    assert card.missing_evidence == ["ceiling"]
    assert card.validation is not None
