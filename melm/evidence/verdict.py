"""The verdict on a fit: how far it can be relied on, in four degrees, from the evidence in the card.

Only this module judges fits. The verdict is stored in the card, and every front end shows it unchanged.

The degree follows the *skill* on held-out rows, the balanced accuracy rescaled so that chance is 0 and perfection 1:

    skill = (balanced accuracy - chance) / (1 - chance)
"""

from __future__ import annotations

from collections.abc import Sequence

from melm.model.card import Card, Label, PermutationTest, ValidationResult, Verdict, VerdictLevel

# The lowest skill of each degree. Noise is judged by the mean, the others by the lower end of the interval, so that a
# fit to few rows does not get a high degree by chance.
NEGLIGIBLE_SKILL = 0.05  # a smaller difference from chance is of no use, however certain
PARTIAL_SKILL = 0.3  # a balanced accuracy of .65 with two classes
CLEAR_SKILL = 0.7  # .85 with two classes
CLEAR_RECALL = 0.5  # of the class with the lowest recall
SIGNIFICANT = 0.05  # the p-value from which permuted labels do as well as the true ones
SWALLOWED_SHARE = 0.9  # share of held-out rows that are predicted as one class,
SWALLOWED_RECALL = 0.2  # while the recall of every other class is below this
OPTIMISM = 0.1  # by which the accuracy on training rows exceeds that on held-out rows
FEW_ROWS = 10  # in a class
HEADROOM = 0.9  # share of the ceiling's skill below which more components or another method are worth a try
NAMED_CLASSES = 3  # up to this many classes, the sentence names each


def with_verdict(card: Card) -> Card:
    """The card with its verdict, which is computed for cards of version 0.1, as they have none."""
    return card if card.verdict else card.model_copy(update={"verdict": judge_card(card)})


def judge_card(card: Card) -> Verdict:
    """The verdict on the fit that a card describes."""
    validation = card.validation
    if validation is None and card.missing_evidence:
        return Verdict(
            level=VerdictLevel.UNKNOWN,
            sentence="This model is not judged on held-out rows yet: the picture alone does not show whether it holds.",
            next="Wait until the fit has ended. Where it has ended early, fit again with validation.",
        )
    if validation is None:
        return Verdict(
            level=VerdictLevel.UNKNOWN,
            sentence="This fit was not judged on held-out rows: the picture alone does not show whether it holds.",
            next="Fit again with validation.",
        )
    permutation_test = card.permutation_test
    level = _level(validation, permutation_test)
    return Verdict(
        level=level,
        sentence=" ".join(_sentences(level, card, validation, permutation_test)),
        next=_advice(level, card, validation),
    )


def _level(validation: ValidationResult, permutation_test: PermutationTest | None) -> VerdictLevel:
    lowest = _skill(validation.interval[0], validation)
    mean = _skill(validation.balanced_accuracy, validation)
    if lowest <= 0 or mean < NEGLIGIBLE_SKILL or _equals_permuted(permutation_test):
        return VerdictLevel.NOISE
    return _level_of(lowest, validation)


def _level_of(skill: float, validation: ValidationResult) -> VerdictLevel:
    """The degree of a skill that is not noise."""
    if skill < PARTIAL_SKILL or _swallowing_class(validation.confusion) is not None:
        return VerdictLevel.WEAK
    if skill < CLEAR_SKILL or min(validation.recall_by_class) < CLEAR_RECALL:
        return VerdictLevel.PARTIAL
    return VerdictLevel.CLEAR


def _skill(balanced_accuracy: float, validation: ValidationResult) -> float:
    chance: float = validation.chance
    return (balanced_accuracy - chance) / (1 - chance)


def _is_uncertain(level: VerdictLevel, validation: ValidationResult) -> bool:
    """Whether only the width of the interval keeps the fit from a higher degree."""
    return level is not VerdictLevel.NOISE and level is not _level_of(
        _skill(validation.balanced_accuracy, validation), validation
    )


def _may_be_more(validation: ValidationResult) -> bool:
    """Whether a fit is noise only because of the width of the interval: its middle would be partial."""
    return validation.interval[0] <= validation.chance and (
        _skill(validation.balanced_accuracy, validation) >= PARTIAL_SKILL
    )


def _equals_permuted(permutation_test: PermutationTest | None) -> bool:
    """Whether fits to permuted labels do as well. With few permutations this takes one that does."""
    if permutation_test is None or permutation_test.p_value_of_balanced_accuracy is None:
        return False
    return permutation_test.p_value_of_balanced_accuracy > max(SIGNIFICANT, 1 / (1 + permutation_test.permutations))


def _swallowing_class(confusion: Sequence[Sequence[int]]) -> int | None:
    """The class that is predicted for nearly all rows, while the recall of all others is very low; None without one."""
    n_rows = sum(map(sum, confusion))
    for code, predicted in enumerate(map(sum, zip(*confusion, strict=True))):
        others = [row[other] / max(1, sum(row)) for other, row in enumerate(confusion) if other != code]
        if predicted >= SWALLOWED_SHARE * n_rows and max(others) < SWALLOWED_RECALL:
            return code
    return None


def _sentences(
    level: VerdictLevel,
    card: Card,
    validation: ValidationResult,
    permutation_test: PermutationTest | None,
) -> list[str]:
    """Sentences, most important first: a class that swallows the others, the degree, scores on new rows, optimism."""
    classes = card.data.classes
    swallowing = _swallowing_class(validation.confusion)
    sentences = []
    if swallowing is not None:
        sentences.append(f"Nearly every new row is predicted as {classes[swallowing]!r}.")
    if level is VerdictLevel.NOISE:
        if _equals_permuted(permutation_test):
            sentences.append("Noise: fits to permuted labels recognize held-out rows as well as this one.")
        elif _may_be_more(validation):
            low, high = validation.interval
            scores = f"new rows score {low:.2f} to {high:.2f}, guessing {validation.chance:.2f}"
            sentences.append(f"Noise, as far as one can be sure: {scores}.")
        elif validation.interval[0] <= validation.chance:
            sentences.append("Noise: on new rows this view does no better than guessing.")
        else:
            sentences.append("Noise: on new rows this view does better than guessing by too little to be of use.")
    elif _is_uncertain(level, validation):
        low, high = validation.interval
        sentences.append(f"{level.capitalize()}, as far as one can be sure: new rows score {low:.2f} to {high:.2f}.")
    else:
        sentences.append(OPENINGS[level])
    sentences.append(_recognition(classes, validation.recall_by_class))
    sentences += _beside_ceiling(level, card, validation)
    in_sample = card.in_sample
    if in_sample and level is not VerdictLevel.NOISE:
        seen, new = in_sample.leave_one_out_balanced_accuracy, validation.balanced_accuracy
        if seen is not None and seen - new > OPTIMISM:
            sentences.append(
                f"The picture looks better than it is: it recognizes {seen:.0%} of its own rows, {new:.0%} of new ones."
            )
    return sentences


OPENINGS = {
    VerdictLevel.WEAK: "Weak: new rows fall where the picture says a little more often than by chance.",
    VerdictLevel.PARTIAL: "Partial: the classes overlap on new rows.",
    VerdictLevel.CLEAR: "Clear: new rows fall where the picture says.",
}


def _share_of_ceiling(card: Card, validation: ValidationResult) -> float | None:
    """Skill as a share of the skill of the ceiling; None if that is unknown or negligible."""
    if card.ceiling is None:
        return None
    highest = _skill(card.ceiling.balanced_accuracy, validation)
    return None if highest < NEGLIGIBLE_SKILL else _skill(validation.balanced_accuracy, validation) / highest


def _beside_ceiling(level: VerdictLevel, card: Card, validation: ValidationResult) -> list[str]:
    share = _share_of_ceiling(card, validation)
    if share is None or card.ceiling is None:
        return []
    if level is VerdictLevel.NOISE:
        highest = _skill(card.ceiling.balanced_accuracy, validation)
        if highest < PARTIAL_SKILL:
            return []
        return [
            f"All columns together can do better: {card.ceiling.method} scores {card.ceiling.balanced_accuracy:.2f}."
        ]
    if share >= 1:
        return [f"It does as well as {card.ceiling.method}."]
    return [f"It keeps {share:.0%} of what {card.ceiling.method} can do."]


def _recognition(classes: Sequence[Label], recalls: Sequence[float]) -> str:
    """How many of a hundred new rows of a class are recognized."""
    hundreds = [round(100 * recall) for recall in recalls]
    if len(classes) <= NAMED_CLASSES:
        *parts, last = [f"{count} of {label!r}" for label, count in zip(classes, hundreds, strict=True)]
        return f"Of every 100 new rows of a class, it recognizes {', '.join(parts)} and {last}."
    worst, best = (choose(range(len(recalls)), key=recalls.__getitem__) for choose in (min, max))
    return (
        f"Of every 100 new rows of a class, it recognizes {round(100 * sum(recalls) / len(recalls))} on average: "
        f"{hundreds[best]} of {classes[best]!r}, the best, and {hundreds[worst]} of {classes[worst]!r}, the worst."
    )


def _advice(level: VerdictLevel, card: Card, validation: ValidationResult) -> str:
    data = card.data
    fewest = min(data.class_counts)
    if level is not VerdictLevel.CLEAR and fewest < FEW_ROWS:
        label = data.classes[data.class_counts.index(fewest)]
        return f"Collect more rows of {label!r}: with {fewest} of them, little can be said."
    share = _share_of_ceiling(card, validation)
    if level is VerdictLevel.NOISE and _may_be_more(validation) and not _equals_permuted(card.permutation_test):
        return "Validate with more folds or repeats, or collect more rows."
    if level is VerdictLevel.NOISE:
        return "Do not read the picture. Try fewer columns, more rows, or other measurements."
    if level is not VerdictLevel.CLEAR and share is not None and share < HEADROOM:
        return "The columns hold more than this picture shows: try more components, or compare with another method."
    if level is VerdictLevel.CLEAR:
        return "Look at which features make up the axes, and check that none of them gives the class away."
    if _is_uncertain(level, validation):
        return "Validate with more folds or repeats, or collect more rows."
    worst = min(range(len(data.classes)), key=validation.recall_by_class.__getitem__)
    into = max(
        (code for code in range(len(data.classes)) if code != worst), key=validation.confusion[worst].__getitem__
    )
    return (
        f"Look at the rows of {data.classes[worst]!r}, which are most often taken for {data.classes[into]!r}, "
        "or compare with another method."
    )
