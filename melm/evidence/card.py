"""Fills in the card of a model: the data, the projection, the separation of the training rows, and the software."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.data.prepared_rows import PreparedRows
from melm.density import ClassDensities
from melm.density.compaction import CELL
from melm.density.overlap import overlap
from melm.evidence.evaluate import JUDGED_ROWS
from melm.model.card import (
    MAX_LISTED,
    AnyColumn,
    CategoricalColumn,
    Chosen,
    ChosenCandidate,
    Data,
    Density,
    KeptFeature,
    NumericColumn,
    Reduction,
    Separation,
    Software,
    Start,
    TimeColumn,
)
from melm.objective.divergence import divergence_of
from melm.objective.potential import Pair
from melm.search.climb import StartResult
from melm.search.regularization import Choice
from melm.tables.encoding import Encoder
from melm.typing import Array

KEPT = 0.999  # a warning is added if a smaller share of a variance is kept
LIBRARIES = ("melm", "numpy", "scipy", "scikit-learn", "finufft")


def describe_projection(
    prepared: PreparedRows, projection: Array, loadings: Array, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    """The features that make up the axes, by standardized loadings: raw entries of V depend on the features' scale."""
    listed = strongest(loadings, range(len(loadings)), MAX_LISTED)
    more = {}
    if len(listed) < len(loadings):
        more = {"feature_positions": listed, "n_more_features": len(loadings) - len(listed)}
    return {
        "features": [f"x{j}" if feature_names is None else feature_names[j] for j in listed],
        "loadings": loadings[listed].tolist(),
        "axis_correlations": prepared.spread.axis_correlations(projection)[listed].tolist(),
        **more,
    }


def describe_columns(prepared: PreparedRows, projection: Array, loadings: Array, encoder: Encoder) -> dict[str, Any]:
    """The columns of the table from which the features were encoded, each with the joint loading of its features."""
    listed = strongest(loadings, encoder.sources, MAX_LISTED)
    sources, spread = [encoder.sources[index] for index in listed], prepared.spread
    joint = spread.joint_loadings(projection, sources).tolist()
    correlations = spread.joint_correlations(projection, sources).tolist()
    kinds: dict[str, type[AnyColumn]]
    kinds = {"numeric": NumericColumn, "categorical": CategoricalColumn, "time": TimeColumn}
    facts = encoder.to_json()
    columns = [
        kinds[facts[place]["kind"]](
            **facts[place], features=sources[index], loadings=joint[index], axis_correlations=correlations[index]
        )
        for index, place in enumerate(listed)
    ]
    more = len(facts) - len(listed)
    return {"columns": columns, "n_more_columns": more} if more else {"columns": columns}


def strongest(loadings: Array, sources: Sequence[Sequence[int]] | range, at_most: int) -> list[int]:
    """The positions, in order, of the sources (features, or several of them) with the largest loading on any axis."""
    if len(sources) <= at_most:
        return list(range(len(sources)))
    sizes = np.abs(loadings).max(axis=1)
    if not isinstance(sources, range):
        sizes = np.array([sizes[J].max(initial=0.0) for J in map(list, sources)])
    return sorted(np.argsort(-sizes, kind="stable")[:at_most].tolist())


def describe_separation(densities: ClassDensities, log_potentials: dict[Pair, float], accuracy: float) -> Separation:
    """How far the classes are apart on the training rows, which is optimistic.

    `accuracy` is the leave-one-out balanced accuracy of these rows.
    """
    shared = overlap(densities)
    entropies = np.zeros((len(densities.rows), len(densities.rows)))
    for (a, b), log_potential in log_potentials.items():
        entropies[a, b] = entropies[b, a] = -log_potential
    return Separation(
        divergence=divergence_of(log_potentials),
        entropies=entropies.tolist(),
        overlap=shared.minimum.tolist(),
        overlap_bound=shared.affinity.tolist(),
        leave_one_out_balanced_accuracy=accuracy,
    )


def describe_density(n_rows: int, densities: ClassDensities, stored: ClassDensities) -> Density:
    """How many rows the class densities store; if these are fewer than the training rows, the resulting error.

    For rows beyond memory the densities are compact from the beginning, and the error is unknown.
    """
    n_stored_rows = sum(map(len, stored.rows))
    if stored is densities:
        return Density(
            n_rows=n_rows,
            n_stored_rows=n_stored_rows,
            cell=CELL if densities.weights and n_stored_rows < n_rows else None,
            narrowing=densities.narrowing,
        )
    share = JUDGED_ROWS / n_rows
    judged = np.concatenate([densities.thin(c, round(share * len(rows))) for c, rows in enumerate(densities.rows)])
    error = stored.log_densities(judged) - densities.log_densities(judged)
    labels = [either.most_probable(judged) for either in (densities, stored)]
    return Density(
        n_rows=n_rows,
        n_stored_rows=n_stored_rows,
        cell=CELL,
        narrowing=densities.narrowing,
        log_density_error=float(np.sqrt(np.square(error).mean())),
        largest_log_density_error=float(np.abs(error).max()),
        labels_changed=float((labels[0] != labels[1]).mean()),
    )


def describe_starts(starts: Sequence[StartResult]) -> list[Start]:
    """Every start of a search, without its projection."""
    return [
        Start(
            start=start.index,
            divergence=start.divergence,
            n_rows=start.n_rows,
            n_evaluations=start.n_evaluations,
            stopping_reason=start.stopping_reason.value,
        )
        for start in starts
    ]


def describe_choice(choice: Choice, feature_names: Sequence[str] | None) -> Chosen:
    """What a regularized search chose, and the score that the search without regularization has."""
    score = dict(zip(choice.candidates, choice.scores.tolist(), strict=True))
    plain = [
        candidate
        for candidate in choice.candidates
        if (candidate.ridge, candidate.objective, candidate.n_kept) == (0, "divergence", None)
        and candidate.start != "pls"
    ]
    kept = [
        KeptFeature(feature=f"x{j}" if feature_names is None else feature_names[j], share_of_folds=share)
        for j, share in choice.kept.items()
    ]
    averaged = sorted(np.flatnonzero(choice.shares).tolist(), key=lambda place: -choice.shares[place])
    return Chosen(
        by="mean log posterior of rows held out by inner folds, classes weighing alike",
        folds=choice.n_folds,
        n_candidates=len(choice.candidates),
        score=_known(score[choice.best]),
        plain_score=_known(score[plain[-1]]) if plain else None,
        candidates=[
            ChosenCandidate(
                share=choice.shares[place],
                score=choice.scores[place],
                start=candidate.start,
                objective=candidate.objective,
                ridge=candidate.ridge,
                gamma=candidate.gamma,
                iterations=candidate.n_iterations,
                n_kept=candidate.n_kept,
            )
            for place in averaged
            for candidate in [choice.candidates[place]]
        ],
        **({"kept": kept} if kept else {}),
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def describe_data(prepared: PreparedRows, classes: npt.NDArray[Any]) -> Data:
    """The training rows."""
    constant = np.flatnonzero(prepared.rows.scale == 0).tolist()
    return Data(
        n_rows=sum(prepared.counts),
        n_features=len(prepared.rows.scale),
        classes=classes.tolist(),
        class_counts=prepared.counts,
        constant_features=constant[:MAX_LISTED],
        **({"n_more_constant_features": len(constant) - MAX_LISTED} if len(constant) > MAX_LISTED else {}),
    )


def describe_reduction(prepared: PreparedRows) -> Reduction | None:
    """The directions to which a large number of rows with a large number of features was reduced."""
    found = prepared.reduction
    if found is None:
        return None
    return Reduction(n_directions=found.n_directions, within_share=found.within, between_share=found.between)


def describe_software() -> Software:
    """The versions of libraries, and the processor family, within which equal fits give equal bits."""
    return Software(
        versions={library: version(library) for library in LIBRARIES},
        python=platform.python_version(),
        machine=platform.machine(),
    )


def warn(prepared: PreparedRows, classes: npt.NDArray[Any]) -> list[str]:
    """The warnings of a card: what to know before trusting the model."""
    warnings = []
    for label, floored, count in zip(classes.tolist(), prepared.whitening.floored, prepared.counts, strict=True):
        if floored:
            warnings.append(
                f"Class {label!r} has no spread of its own in some direction; a minimal one was assumed there, and the "
                "divergence depends on it."
            )
        if count < 10:
            warnings.append(f"Class {label!r} has only {count} rows.")
    if (reduction := prepared.reduction) is not None and min(reduction.within, reduction.between) < KEPT:
        warnings.append(
            f"The rows were reduced to {reduction.n_directions} directions, which keep {reduction.within:.0%} of the "
            f"variance inside the classes and {reduction.between:.0%} of that between them: what separates the classes "
            "elsewhere was not seen."
        )
    if prepared.n_dimensions > sum(prepared.counts) / 10:
        warnings.append(
            f"{prepared.n_dimensions} dimensions for {sum(prepared.counts)} rows: a projection can separate classes "
            "of pure noise here. Look at a held-out score."
        )
    return warnings
