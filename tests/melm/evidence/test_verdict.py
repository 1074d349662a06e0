"""The verdict in made situations: its degree, and the words that people get."""

from __future__ import annotations

from pathlib import Path

import pytest

from melm.evidence import verdict as module
from melm.evidence.verdict import judge_card
from melm.model.card import Card, Ceiling, Data, PermutationTest, Separation, ValidationResult, VerdictLevel

LABELS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]


def card(
    confusion: list[list[int]],
    reach: float = 0.02,
    p_value: float | None = None,
    permutations: int = 100,
    in_sample: float | None = None,
    ceiling: float | None = None,
) -> Card:
    """A card with the held-out confusion, and an interval that reaches this far to both sides."""
    recalls = [row[code] / sum(row) for code, row in enumerate(confusion)]
    accuracy = sum(recalls) / len(recalls)
    return Card.model_construct(
        data=Data.model_construct(
            classes=LABELS[: len(confusion)],
            class_counts=[sum(row) for row in confusion],
        ),
        validation=ValidationResult.model_construct(
            balanced_accuracy=accuracy,
            interval=[max(0.0, accuracy - reach), min(1.0, accuracy + reach)],
            chance=1 / len(confusion),
            recall_by_class=recalls,
            confusion=confusion,
        ),
        permutation_test=None
        if p_value is None
        else PermutationTest.model_construct(p_value_of_balanced_accuracy=p_value, permutations=permutations),
        ceiling=None
        if ceiling is None
        else Ceiling(method="gradient boosting on all features", balanced_accuracy=ceiling, scores=[ceiling]),
        in_sample=None if in_sample is None else Separation.model_construct(leave_one_out_balanced_accuracy=in_sample),
    )


def many(n_classes: int, right: int, wrong: int) -> list[list[int]]:
    return [[right if a == b else wrong for b in range(n_classes)] for a in range(n_classes)]


SITUATIONS = [
    ("pure noise", card([[52, 48], [50, 50]], 0.05), VerdictLevel.NOISE, "no better than guessing"),
    ("worse than chance", card([[40, 60], [60, 40]], 0.05), VerdictLevel.NOISE, "no better than guessing"),
    (
        "certain, but of no size",
        card([[999, 248757], [3, 76000]], 0.0005),
        VerdictLevel.NOISE,
        "too little to be of use",
    ),
    (
        "certain, but of no size: what is said first",
        card([[999, 248757], [3, 76000]], 0.0005),
        VerdictLevel.NOISE,
        "'b'",
    ),
    (
        "high score, wide interval",
        card([[8, 2], [2, 8]], 0.35),
        VerdictLevel.NOISE,
        "score 0.45 to 1.00, guessing 0.50",
    ),
    ("permuted labels do as well", card([[80, 20], [20, 80]], p_value=0.4), VerdictLevel.NOISE, "permuted labels"),
    (
        "three permutations, none as good",
        card([[90, 10], [9, 91]], p_value=0.25, permutations=3),
        VerdictLevel.CLEAR,
        "Clear",
    ),
    ("permutation test passed", card([[90, 10], [9, 91]], p_value=0.01), VerdictLevel.CLEAR, "Clear"),
    ("weak", card([[62, 38], [40, 60]]), VerdictLevel.WEAK, "recognizes 62 of 'a' and 60 of 'b'"),
    (
        "weak by its interval",
        card([[80, 20], [20, 80]], 0.2),
        VerdictLevel.WEAK,
        "sure: new rows score 0.60 to 1.00",
    ),
    ("partial", card([[75, 25], [25, 75]]), VerdictLevel.PARTIAL, "overlap"),
    ("clear", card([[95, 5], [4, 96]]), VerdictLevel.CLEAR, "96 of 'b'"),
    ("perfect", card([[50, 0], [0, 50]], 0.0), VerdictLevel.CLEAR, "100 of 'a'"),
    ("1:99, both recognized", card([[10, 0], [20, 970]], 0.05), VerdictLevel.CLEAR, "Clear"),
    (
        "1:99, the rare one swallowed",
        card([[1, 9], [0, 990]], 0.02),
        VerdictLevel.WEAK,
        "Nearly every new row is predicted",
    ),
    (
        "swallowed in noise",
        card([[1, 99], [0, 100]], 0.001),
        VerdictLevel.NOISE,
        "Nearly every new row is predicted as 'b'",
    ),
    ("picture flatters", card([[75, 25], [25, 75]], in_sample=0.99), VerdictLevel.PARTIAL, "99% of its own rows"),
    ("picture does not flatter", card([[75, 25], [25, 75]], in_sample=0.8), VerdictLevel.PARTIAL, "overlap"),
    (
        "below the ceiling",
        card([[75, 25], [25, 75]], ceiling=0.9),
        VerdictLevel.PARTIAL,
        "It keeps 62% of what gradient",
    ),
    (
        "at the ceiling",
        card([[95, 5], [4, 96]], ceiling=0.95),
        VerdictLevel.CLEAR,
        "It does as well as gradient boosting",
    ),
    (
        "noise below a ceiling",
        card([[50, 50], [50, 50]], ceiling=0.8),
        VerdictLevel.NOISE,
        "together can do better: gradient",
    ),
    (
        "noise, and nothing to reach",
        card([[52, 48], [50, 50]], 0.05, ceiling=0.5),
        VerdictLevel.NOISE,
        "than guessing. Of",
    ),
    ("weak, and so is the ceiling", card([[62, 38], [40, 60]], ceiling=0.62), VerdictLevel.WEAK, "It keeps 92%"),
    ("one class missed", card([[98, 1, 1], [1, 98, 1], [30, 30, 40]]), VerdictLevel.PARTIAL, "40 of 'c'"),
    ("three classes at chance", card([[34, 33, 33], [33, 34, 33], [33, 33, 34]], 0.05), VerdictLevel.NOISE, "guessing"),
    ("ten classes, clear", card(many(10, 91, 1)), VerdictLevel.CLEAR, "on average"),
    ("ten classes, partial", card(many(10, 55, 5)), VerdictLevel.PARTIAL, "the worst"),
    ("ten classes, weak", card(many(10, 18, 9), 0.03), VerdictLevel.WEAK, "recognizes 18 on average"),
    ("tiny, but separated", card([[5, 0], [0, 6]], 0.0), VerdictLevel.CLEAR, "Clear"),
]


@pytest.mark.parametrize(
    ("evidence", "level", "words"), [each[1:] for each in SITUATIONS], ids=[s[0] for s in SITUATIONS]
)
def test_situation(evidence: Card, level: VerdictLevel, words: str) -> None:
    verdict = judge_card(evidence)
    assert verdict.level is level
    assert words in verdict.sentence


def test_a_fit_without_validation_is_not_judged() -> None:
    verdict = judge_card(Card.model_construct(validation=None))
    assert verdict.level is VerdictLevel.UNKNOWN
    assert "validation" in verdict.next


def test_swallowed_class_is_said_first() -> None:
    assert judge_card(card([[999, 248757], [3, 76000]], 0.0005)).sentence.startswith("Nearly every new row")


def test_picture_that_does_not_flatter_is_not_accused() -> None:
    assert "looks better" not in judge_card(card([[75, 25], [25, 75]], in_sample=0.8)).sentence


def test_advice_names_what_is_confused() -> None:
    verdict = judge_card(card([[40, 45, 15], [2, 97, 1], [1, 1, 98]]))
    assert "'a'" in verdict.next
    assert "'b'" in verdict.next


def test_advice_below_the_ceiling_is_to_show_more_of_the_columns() -> None:
    below, near = (judge_card(card([[75, 25], [25, 75]], ceiling=ceiling)).next for ceiling in (0.9, 0.76))
    assert "more components" in below
    assert "more components" not in near


def test_advice_asks_for_more_folds_where_the_interval_is_wide() -> None:
    for reach in (0.2, 0.35):
        assert "more folds" in judge_card(card([[80, 20], [20, 80]], reach)).next
    assert "Do not read" in judge_card(card([[80, 20], [20, 80]], 0.35, p_value=0.4)).next
    assert "Do not read" in judge_card(card([[55, 45], [45, 55]], 0.1)).next


def test_advice_asks_for_rows_of_a_tiny_class() -> None:
    assert "more rows of 'a'" in judge_card(card([[4, 4], [20, 80]], 0.3)).next


def test_the_page_on_the_verdict_has_the_thresholds() -> None:
    page = " ".join((Path(__file__).parents[3] / "docs" / "verdict.md").read_text().split())
    for words in (
        f"the skill is below {module.NEGLIGIBLE_SKILL};",
        f"`weak` | the lower end of the interval is below {module.PARTIAL_SKILL};",
        f"`partial` | the lower end of the interval is below {module.CLEAR_SKILL};",
        f"less than {module.CLEAR_RECALL} of some class",
        f"at least {module.SWALLOWED_SHARE} of all held-out rows",
        f"less than {module.SWALLOWED_RECALL} of every other class",
        f"p-value is above {module.SIGNIFICANT},",
        f"by more than {module.OPTIMISM}.",
        f"less than {module.HEADROOM} of the ceiling",
        f"a class with fewer than {module.FEW_ROWS} rows",
    ):
        assert words in page
