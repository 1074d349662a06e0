"""The evidence for a model as a plan: the same fit on folds, on permuted labels and on bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from melm.data.labeled import Labeled
from melm.evidence.ceiling import is_affordable, plan_ceiling
from melm.evidence.importance import describe_importance
from melm.evidence.stability import describe_stability
from melm.evidence.traps import warn_of_lone_columns
from melm.evidence.validation import HeldOut, Validation, describe_validation, judge
from melm.model import HeldOutRows, Model
from melm.model.card import Card, Evidence, PermutationTest
from melm.plan import Bootstrap, Fold, NothingFitted, Plan, Resamples, Shuffle, gather
from melm.typing import Array

T = TypeVar("T")
FitPlan: TypeAlias = Callable[[Resamples, str], Plan[Model]]  # takes resamples and a prefix for the names of the units

UNSTABLE = 0.5  # a direction is unstable if its low cosine over bootstrap fits is smaller
MAX_HELD_OUT_ROWS = 5000  # kept for the picture


def plan_evidence(fit: FitPlan, data: Labeled, validation: Validation, seed: int, model: Model) -> Plan[Model]:
    """The model with the evidence in its card. Evidence that cannot be computed is named there as missing."""
    splits = validation.splits(data, seed)
    shuffles = [Shuffle(seed + i) for i in range(validation.permutations)]
    draws = [Bootstrap(seed + i) for i in range(validation.bootstraps)]

    def folds(before: Resamples, name: str) -> list[Plan[Model]]:
        return [fit((*before, fold), f"{name}fold {fold.seed}.{fold.index} ") for fold in splits]

    plans: list[Plan[Any]] = folds((), "")
    for shuffle in shuffles:
        name = f"permutation {shuffle.seed} "
        plans += [fit((shuffle,), name), *folds((shuffle,), name)]
    plans += [fit((draw,), f"bootstrap {draw.seed} ") for draw in draws]
    has_ceiling = bool(validation.ceiling and splits and is_affordable(data))
    plans += [plan_ceiling(splits)] * has_ceiling
    outcomes = iter((yield from gather([_attempt(plan) for plan in plans])))

    def take(count: int) -> list[Any]:
        return [next(outcomes) for _ in range(count)]

    fold_models = take(len(splits))
    held_out = judge(data, splits, fold_models)
    null = [_null(data, splits, shuffle, take(1 + len(splits))) for shuffle in shuffles]
    found = {
        "validation": describe_validation(held_out) if held_out else None,
        "permutation_test": _describe_permutations(model, held_out, null) if shuffles else None,
        "stability": describe_stability(data, model, take(len(draws))) if draws else None,
        "importance": describe_importance(data, model, splits, fold_models) if held_out else None,
        "ceiling": next(outcomes) if has_ceiling else None,
    }
    asked = [key for key in asked_evidence(validation) if key != "ceiling" or has_ceiling]
    missing = [key for key in asked if found[key] is None]
    card = model.card.model_copy(update={**found, "missing_evidence": missing})
    rows = _held_out_rows(data, model, splits, fold_models) if held_out else None
    lone = warn_of_lone_columns(data, model, splits, card.validation) if card.validation else []
    return replace(model, card=card.with_warnings([*_doubts(card), *lone]), held_out=rows)


def asked_evidence(validation: Validation) -> list[Evidence]:
    """The keys of the card for the requested evidence."""
    asked: list[Evidence] = ["validation"]
    if validation.permutations:
        asked.append("permutation_test")
    if validation.bootstraps:
        asked.append("stability")
    if validation.ceiling:
        asked.append("ceiling")
    return asked


def _attempt(plan: Plan[T]) -> Plan[T]:
    """A fit to a resample. If it fails, the evidence is incomplete, but the fit of the model is not affected."""
    try:
        return (yield from plan)
    except ValueError as error:
        raise NothingFitted(str(error)) from error


def _null(
    data: Labeled, splits: Sequence[Fold], shuffle: Shuffle, models: list[Model | None]
) -> tuple[float, float | None] | None:
    """Divergence and held-out accuracy of a fit to permuted labels."""
    whole, *fold_models = models
    if whole is None or whole.card.in_sample is None:
        return None
    held_out = judge(data, splits, fold_models, (shuffle,))
    return whole.card.in_sample.divergence, held_out.balanced_accuracy if held_out else None


def _describe_permutations(
    model: Model, held_out: HeldOut | None, null: Sequence[tuple[float, float | None] | None]
) -> PermutationTest | None:
    """The permutation test. The true labels count as one of the permutations, so no p-value is zero."""
    found = [pair for pair in null if pair is not None]
    if not found or model.card.in_sample is None:
        return None
    divergences = [divergence for divergence, _ in found]
    accuracies = [accuracy for _, accuracy in found if accuracy is not None]
    return PermutationTest(
        permutations=len(found),
        divergences=divergences,
        p_value_of_divergence=_p_value(model.card.in_sample.divergence, divergences),
        balanced_accuracies=accuracies,
        p_value_of_balanced_accuracy=_p_value(held_out.balanced_accuracy, accuracies) if held_out else None,
    )


def _p_value(observed: float, null: Sequence[float]) -> float:
    return (1 + sum(value >= observed for value in null)) / (1 + len(null))


def _held_out_rows(
    data: Labeled, model: Model, splits: Sequence[Fold], fold_models: Sequence[Model | None]
) -> HeldOutRows:
    """The positions of held-out rows by the fits of their folds, in the coordinates of the model.

    Only the column space of a projection matters, so the coordinates of a fold are aligned with those of the model by
    the least-squares map on the training rows of the fold.
    """
    Z, parts = [], []
    n_repeat = splits[0].n_folds  # one repeat shows every row once
    for fold, fold_model in zip(splits[:n_repeat], fold_models, strict=False):
        if fold_model is not None:
            own, seen_codes = data.held_out((fold,))
            positions = fold_model.transform(own)
            Z.append(_homogeneous(positions) @ alignment(data, model, fold_model, (fold,)))
            rows = data.row_numbers(data.hold_out((fold,)).rows)
            parts.append(np.stack([seen_codes, fold_model.densities.most_probable(positions), rows]))
    every = max(1, -(-sum(map(len, Z)) // MAX_HELD_OUT_ROWS))
    codes, predicted, rows = np.concatenate(parts, axis=1)[:, ::every]
    return HeldOutRows(np.concatenate(Z)[::every], codes, predicted, rows)


def alignment(data: Labeled, model: Model, other: Model, resamples: Resamples) -> Array:
    """The affine map (k + 1, k) from the other model's coordinates to the model's, by the rows of the resamples."""
    own = other.transform(data.training(resamples)[0])
    shared = model.transform(data.training(resamples, encoded_for=())[0])
    return np.asarray(np.linalg.lstsq(_homogeneous(own), shared, rcond=None)[0], np.float64)


def _homogeneous(Z: Array) -> Array:
    return np.column_stack([Z, np.ones(len(Z))])


def _doubts(card: Card) -> list[str]:
    """Warnings about the picture that the verdict does not give."""
    doubts = []
    if card.stability:
        for axis, cosine in enumerate(card.stability.cosines):
            if cosine.low < UNSTABLE:
                doubts.append(
                    f"Direction {axis + 1} of the projection is unstable: other rows would have given another."
                )
    return doubts
