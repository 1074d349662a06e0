"""The evidence for a fit of one's own: the service's, in one line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_iris

from melm import MELM
from melm.evidence.validation import Validation
from melm.local import Progress
from melm.methods import fit
from melm.model.card import VerdictLevel
from tests.melm.samples import mixture

PARAMETERS: dict[str, Any] = {"regularization": None, "n_starts": 2}


@cache
def judged() -> MELM:
    X, y = load_iris(return_X_y=True)
    return MELM(**PARAMETERS, random_state=0).fit(X, y).validate(X, y, folds=3, bootstraps=1, ceiling=True)


def test_the_evidence_is_that_of_the_service_bit_for_bit() -> None:
    X, y = load_iris(return_X_y=True)
    validation = Validation(folds=3, bootstraps=1, ceiling=True)
    expected = fit("melm", X, y, validation=validation, seed=0, **PARAMETERS)
    found = judged().model_
    assert found.card == expected.card
    assert found.held_out is not None
    assert expected.held_out is not None
    np.testing.assert_array_equal(found.held_out.positions, expected.held_out.positions)


def test_a_verdict_in_one_line() -> None:
    X, y = load_iris(return_X_y=True)
    assert judged().verdict_.level is VerdictLevel.CLEAR
    plain = MELM(**PARAMETERS, random_state=0).fit(X, y)
    assert plain.verdict_.level is VerdictLevel.UNKNOWN
    np.testing.assert_array_equal(plain.transform(X), judged().transform(X))  # the model is the same


def test_noise_is_called_noise() -> None:
    X, y = mixture([40, 40], 8)
    y = np.random.default_rng(5).permutation(y)
    verdict = MELM(**PARAMETERS, random_state=0).fit(X, y).validate(X, y).verdict_
    assert verdict.level is VerdictLevel.NOISE


def test_a_table_is_encoded_inside_the_folds_and_a_loaded_model_can_be_judged(tmp_path: Path) -> None:
    table = load_penguins()[::3]
    X, y = table.drop(columns="species"), table["species"]
    estimator = MELM(**PARAMETERS, random_state=0).fit(X, y)
    estimator.save(tmp_path / "model.npz")
    loaded = MELM.load(tmp_path / "model.npz")
    assert loaded.get_params()["n_starts"] == 2
    assert loaded.get_params()["regularization"] is None
    assert loaded.validate(X, y, folds=2).model_.card == estimator.validate(X, y, folds=2).model_.card
    assert loaded.model_.card.importance is not None
    assert set(loaded.model_.card.importance.columns) == set(X.columns)
    again = loaded.validate(X, y, folds=2, bootstraps=1).model_.card
    assert again.stability is not None
    assert len(again.warnings) == len(set(again.warnings))


def test_other_rows_than_those_of_the_fit_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    estimator = MELM(**PARAMETERS, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not the rows to which the model was fitted: 149 rows, 4 features"):
        estimator.validate(X[1:], y[1:])
    with pytest.raises(ValueError, match="2 classes instead of 150, 4 and 3"):
        estimator.validate(X, np.minimum(y, 1))
    table = load_penguins()[::3]
    of_table = MELM(**PARAMETERS).fit(table.drop(columns="species"), table["species"])
    with pytest.raises(ValueError, match="or other columns"):
        of_table.validate(table.drop(columns="species").assign(year=2007.5 + table["year"]), table["species"])
    with pytest.raises(ValueError, match="folds=1 must be a whole number of at least 2"):
        estimator.validate(X, y, folds=1)
    assert estimator.n_features_in_ == 4


def test_progress_tells_stage_fold_and_share() -> None:
    X, y = load_iris(return_X_y=True)
    told: list[Progress] = []
    estimator = MELM(**PARAMETERS, random_state=0, callback=told.append).fit(X, y)
    assert str(told[0]) == "start"
    assert told[-1].share == pytest.approx(1)
    told.clear()
    estimator.validate(X, y, folds=2, bootstraps=1, permutations=1)
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    texts = {str(progress) for progress in told}
    assert {"start, fold 2 of 2", "start, permuted labels, fold 1 of 2", "start, bootstrap sample"} <= texts


def test_a_bar_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    told: list[Progress] = []
    MELM(**PARAMETERS, verbose=True, callback=told.append).fit(X, y).validate(X, y, folds=2)
    shown = capsys.readouterr().err
    assert "start, fold 2 of 2 |" in shown
    assert "100%" in shown
    assert "left]" in shown
    assert told


def test_a_bar_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.extras.find_spec", lambda name: None if name == "tqdm" else object())
    with pytest.raises(ImportError, match=r"verbose=True needs tqdm: pip install 'melm\[client\]'"):
        MELM(verbose=True).fit(*load_iris(return_X_y=True))
