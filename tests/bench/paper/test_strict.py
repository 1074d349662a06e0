"""The strict protocol chooses nothing by rows on which it is judged."""

from __future__ import annotations

import numpy as np
import pytest

from bench.paper import paper_like, strict
from bench.paper.entrants import RIDGES, Entrant
from melm.comparison.separability import visual_separability
from melm.methods import fit
from melm.plan import Fold
from tests.melm.samples import mixture

PCA = Entrant("pca")
GEM = Entrant("gem", grid={"ridge": RIDGES})
X, codes = mixture([60, 50], 6)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_separability_is_that_of_the_library() -> None:
    scores = strict.separability(X, codes, PCA, repeats=1)
    expected = visual_separability(fit("pca", X, codes).transform(X), codes)
    assert np.mean([score.svm for score in scores]) == pytest.approx(expected.svm)
    assert np.mean([score.knn for score in scores]) == pytest.approx(expected.knn)
    assert np.mean([score.kde for score in scores]) == pytest.approx(expected.kde)


def test_what_a_pipeline_chooses_does_not_depend_on_the_hidden_rows() -> None:
    _, hidden = Fold(2, strict.FOLDS, 0).split(codes)
    garbage = X.copy()
    garbage[hidden] = 1e3
    seen, blind = (strict.pipeline(rows, codes, GEM, repeat=0, index=2) for rows in (X, garbage))
    assert (blind.parameters, blind.believed) == (seen.parameters, seen.believed)
    assert {blind.svm, blind.knn, blind.kde} == {0.5}, "all hidden rows are alike, so one class is always wrong"
    assert min(seen.svm, seen.knn, seen.kde) > 0.6


def test_new_rows_are_not_seen_before_they_are_judged() -> None:
    _, hidden = Fold(2, strict.FOLDS, 0).split(codes)
    garbage = X.copy()
    garbage[hidden] = 1e3
    honest, blind = (strict.held_out(rows, codes, PCA, repeat=0, index=2) for rows in (X, garbage))
    assert min(honest.svm, honest.knn, honest.kde) > 0.6
    assert {blind.svm, blind.knn, blind.kde} == {0.5}


def test_a_parameter_is_chosen_among_its_candidates() -> None:
    assert strict.choose(X, codes, GEM, seed=0)["ridge"] in RIDGES
    assert strict.choose(X, codes, PCA, seed=0) == {}


def test_features_of_any_scale_give_the_same_picture() -> None:
    shifted = 1e6 * X + 5
    Z, Z_shifted = (strict.project(PCA, {}, rows, codes, rows) for rows in (X, shifted))
    np.testing.assert_allclose(Z, Z_shifted, atol=1e-6)


def test_on_noise_only_the_paper_like_protocol_finds_something() -> None:
    generator = np.random.default_rng(0)
    noise, labels = generator.standard_normal((120, 4)), np.arange(120) % 2
    honest = [strict.pipeline(noise, labels, PCA, 0, index) for index in range(strict.FOLDS)]
    flattered = paper_like.separability(noise, labels, PCA, 0)
    assert np.mean([getattr(score, score.believed) for score in honest]) == pytest.approx(0.5, abs=0.1)
    assert np.mean([(score.svm + score.knn + score.kde) / 3 for score in flattered]) > 0.55
