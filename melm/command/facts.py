"""Facts about a model, a fit or a dataset, in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from melm.command.column_roles import kind_lines, role_lines
from melm.command.output import text
from melm.command.remedy import as_options
from melm.tables.problem import Fix

if TYPE_CHECKING:
    from melm.remote import Dataset, FitRecord


def facts_of_model(id: str, card: dict[str, Any]) -> dict[str, object]:
    """The facts about a model, from its card."""
    data, in_sample, held_out = card["data"], card["in_sample"], card["validation"]
    shuffled, stability = card.get("permutation_test"), card.get("stability")
    verdict, ceiling = card["verdict"], card.get("ceiling")
    return {
        "model": id,
        "method": card["method"],
        "rows": data["n_rows"],
        "features": data["n_features"],
        "classes": counted(data["classes"], data["class_counts"]),
        "columns": "\n".join(kind_lines(card.get("columns") or ())) or None,
        "gamma": text(card["gamma"]),
        "divergence": None if in_sample is None else text(in_sample["divergence"]),
        "held-out accuracy": None if held_out is None else describe_validation(held_out),
        "ceiling": None if ceiling is None else f"{ceiling['balanced_accuracy']:.3f} by {ceiling['method']}",
        "permutation test": None if shuffled is None else describe_permutations(shuffled),
        "stability": None if stability is None else describe_stability(stability),
        "verdict": verdict["sentence"],
        "next": verdict["next"],
        "warnings": "\n".join(card["warnings"]) or None,
    }


def describe_validation(held_out: dict[str, Any]) -> str:
    """The balanced accuracy on held-out rows, with its interval."""
    low, high = held_out["interval"]
    return f"{held_out['balanced_accuracy']:.3f} balanced, {low:.3f} to {high:.3f} ({held_out['folds']} folds)"


def describe_permutations(shuffled: dict[str, Any]) -> str:
    """The p-values of the permutation test."""
    names = {"balanced_accuracy": "held-out accuracy", "divergence": "divergence"}
    found = {name: shuffled[f"p_value_of_{key}"] for key, name in names.items()}
    values = [f"{name} p = {p_value:.3g}" for name, p_value in found.items() if p_value is not None]
    return f"{', '.join(values)} ({shuffled['permutations']} permutations)"


def describe_stability(stability: dict[str, Any]) -> str:
    """The stability of each direction over bootstrap samples."""
    cosines = [f"{each['median']:.2f} (at least {each['low']:.2f})" for each in stability["cosines"]]
    return f"cosines {', '.join(cosines)} to the directions of {stability['bootstraps']} fits to bootstrap samples"


def facts_of_fit(record: FitRecord) -> dict[str, object]:
    """The facts about a fit."""
    progress = record.progress
    return {
        "fit": record.id,
        "name": record.name,
        "status": record.status if record.status_detail is None else f"{record.status}, {record.status_detail}",
        "dataset": record.dataset_id,
        "method": record.method,
        "whole fits": record.n_fits,
        "starts": f"{progress.starts_done} of {progress.n_starts}" if progress.n_starts else None,
        "best divergence": None if progress.best_divergence is None else text(progress.best_divergence),
        "error": record.error["message"] if record.error else None,
        "model": record.model_id,
    }


def facts_of_dataset(dataset: Dataset) -> dict[str, object]:
    """The facts about a dataset."""
    return {
        "dataset": dataset.id,
        "name": dataset.name,
        "rows": dataset.n_rows,
        "features": dataset.n_features,
        "classes": counted(dataset.classes, dataset.class_counts),
        "columns": "\n".join(role_lines(dataset.columns or ())) or None,
        "content": dataset.content_hash,
    }


def facts_of_reading(reading: dict[str, Any]) -> dict[str, object]:
    """The facts about a table that is not stored."""
    dialect, target = reading["dialect"] or {}, reading["target"]
    rows = f"{reading['n_rows']:,}" + ("" if reading["is_complete"] else " in the beginning of the file")
    others = ", ".join(each["name"] for each in reading["other_targets"])
    classes = reading["classes"]
    return {
        "format": reading["media_type"],
        **{name: repr(value) for name, value in dialect.items() if value is not None},
        "rows": rows,
        "unlabeled rows": reading["n_unlabeled"] or None,
        "target": None if target is None else f"{target['name']} ({target['reason']})",
        "or perhaps": None if reading["is_target_given"] or not others else others,
        "classes": counted([each["label"] for each in classes], [each["n_rows"] for each in classes]) or None,
        "columns": "\n".join(role_lines(reading["columns"])) or None,
        "problems": "\n".join(map(problem_line, reading["problems"])) or None,
    }


def problem_line(problem: dict[str, Any]) -> str:
    """A problem of a table, its place, and the options that resolve it."""
    places = [] if problem["column"] is None else [f"column {problem['column']!r}"]
    if problem["lines"]:
        places.append(f"line {problem['lines'][0]}")
    said = [
        problem["detail"],
        *as_options(Fix(**fix) for fix in problem["fixes"]),
        *([problem["advice"]] if problem["advice"] else []),
    ]
    more = f" ({problem['count']} times)" if problem["count"] > 1 else ""
    return f"{problem['level']}: {', '.join(places)}{': ' if places else ''}{'; '.join(said)}{more}"


def counted(labels: Iterable[object], counts: Iterable[int]) -> str:
    """Classes, each with its number of rows."""
    return ", ".join(f"{label} ({count})" for label, count in zip(labels, counts, strict=True))
