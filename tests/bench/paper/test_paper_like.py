"""The paper-like protocol: subsets of the rows, and a line for every candidate."""

from __future__ import annotations

import numpy as np

from bench.paper import paper_like
from bench.paper.entrants import RIDGES, Entrant
from tests.melm.samples import mixture

GEM = Entrant("gem", grid={"ridge": RIDGES})
X, codes = mixture([300, 100], 4)


def test_every_candidate_is_reported_on_every_fold() -> None:
    scores = paper_like.separability(X, codes, GEM, repeat=0)
    assert len(scores) == 5 * len(RIDGES)
    assert {score.parameters for score in scores} == {f"ridge={ridge}" for ridge in RIDGES}
    assert len(paper_like.pipeline(X, codes, GEM, repeat=0, index=1)) == len(RIDGES)


def test_repeats_take_other_rows() -> None:
    first, second = (set(paper_like._subset(codes, repeat).tolist()) for repeat in range(2))
    assert first != second


def test_a_subset_keeps_the_shares_of_the_classes() -> None:
    rows = paper_like._subset(codes, 0)
    assert len(set(rows.tolist())) == paper_like.SUBSET
    assert np.bincount(codes[rows]).tolist() == [150, 50]
