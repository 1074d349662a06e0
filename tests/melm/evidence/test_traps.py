"""Traps that data may hold: each is named with its column, and data without one are not accused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

from melm.data.labeled import Labeled
from melm.evidence import traps
from melm.evidence.traps import warn_of_traps
from melm.evidence.validation import Validation
from melm.methods import fit
from melm.typing import Array, Matrix

N = 200
CODES = np.arange(N) % 2
GENERATOR = np.random.default_rng(0)
NOISE = GENERATOR.standard_normal((N, 4))
WEAK = NOISE + 0.8 * CODES[:, None] * [1, 0, 0, 0]
GROUPS = np.repeat(np.arange(40), 5)
GROUP_CODES = (GENERATOR.permutation(40) % 2)[GROUPS]


def warnings(X: Matrix, codes: npt.NDArray[Any] = CODES, groups: npt.NDArray[Any] | None = None) -> list[str]:
    data = Labeled.check(X, codes)
    data.groups = groups
    return warn_of_traps(data)


def beside(column: npt.NDArray[Any]) -> Array:
    return np.column_stack([WEAK, column])


SORTED = np.argsort(CODES, kind="stable")
TRAPS = [
    ("a copy of the target", beside(3 * CODES + 1), CODES, "'x4' says nothing but the class"),
    ("growing with the class", np.column_stack([WEAK[SORTED], np.arange(N)]), CODES[SORTED], "'x4' grows from row"),
    ("falling with the class", np.column_stack([WEAK[SORTED], -np.arange(N)]), CODES[SORTED], "'x4' falls from row"),
    ("an id in any order", beside(1000 + GENERATOR.permutation(N)), CODES, "'x4' is another whole number in every row"),
    ("groups", np.column_stack([NOISE, GROUPS]), GROUP_CODES, "give it the role group"),
    ("repeated rows", np.repeat(WEAK[:100], 2, axis=0), np.repeat(CODES[:100], 2), "100% of the rows are equal"),
]


@pytest.mark.parametrize(("X", "codes", "words"), [each[1:] for each in TRAPS], ids=[each[0] for each in TRAPS])
def test_trap_is_named(X: Array, codes: npt.NDArray[Any], words: str) -> None:
    (warning,) = warnings(X, codes)
    assert words in warning


INNOCENT = [
    ("noise", NOISE, CODES),
    ("a strong feature", beside(CODES + 0.2 * NOISE[:, 3]), CODES),
    ("sorted rows without an id", WEAK[SORTED], CODES[SORTED]),
    ("whole numbers of a wide range", beside(GENERATOR.permutation(100 * N)[:N]), CODES),
    ("a count that tells the classes apart", beside(np.arange(N) // 10 % 20 + 20 * CODES), CODES),
    ("few values, so that rows are alike", (NOISE[:, :3] > 0).astype(float), CODES),
    ("too few rows to tell", np.column_stack([WEAK[SORTED], np.arange(N)])[90:106], CODES[SORTED][90:106]),
]


@pytest.mark.parametrize(("X", "codes"), [each[1:] for each in INNOCENT], ids=[each[0] for each in INNOCENT])
def test_data_without_a_trap_are_not_accused(X: Array, codes: npt.NDArray[Any]) -> None:
    assert warnings(X, codes) == []


def test_rows_that_have_groups_are_not_asked_for_them() -> None:
    assert warnings(np.column_stack([NOISE, GROUPS]), GROUP_CODES, GROUPS) == []


def test_copies_are_found_in_sparse_rows() -> None:
    (warning,) = warnings(csr_array(beside(CODES)), CODES)
    assert "'x4' says nothing but the class" in warning


def test_a_column_that_alone_does_what_the_picture_does_is_named() -> None:
    X = beside(CODES + 0.2 * NOISE[:, 3])
    card = fit("lda", X, CODES, validation=Validation(3)).card
    (warning,) = card.warnings
    assert "'x4' alone recognizes" in warning
    together = NOISE + 1.5 * CODES[:, None]
    assert fit("lda", together, CODES, validation=Validation(3)).card.warnings == []


def test_the_page_on_the_verdict_has_the_thresholds_of_traps() -> None:
    page = (Path(__file__).parents[3] / "docs" / "verdict.md").read_text()
    for words in (
        f"fewer than {traps.FEWEST_ROWS} rows",
        f"more than {traps.COPY} of a feature's variance",
        f"at least {traps.ALONE} of the fit's skill, and a skill of at least {traps.ALONE_SKILL}",
        f"at least {traps.FEWEST_GROUPS} values",
        f"at least {traps.PURE} of the rows",
        f"more than {traps.TWINS} of the rows",
        f"no more than {traps.MOST_TWINS} are alike",
    ):
        assert words in page
