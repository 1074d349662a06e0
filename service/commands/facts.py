"""What people want to know of a model, a fit or a dataset, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from melm.remote import Dataset, FitRecord
from service.commands.output import text


def facts_of_model(id: str, card: dict[str, Any]) -> dict[str, object]:
    """Of a model, by its card."""
    data, in_sample, held_out = card["data"], card["in_sample"], card["validation"]
    return {
        "model": id,
        "method": card["method"],
        "rows": data["n_rows"],
        "features": data["n_features"],
        "classes": counted(data["classes"], data["class_counts"]),
        "gamma": text(card["gamma"]),
        "divergence": None if in_sample is None else text(in_sample["divergence"]),
        "held-out accuracy": None if held_out is None else describe_validation(held_out),
        "warnings": " ".join(card["warnings"]) or None,
    }


def describe_validation(held_out: dict[str, Any]) -> str:
    """The balanced accuracy on rows that were not learned from, with its interval."""
    low, high = held_out["interval"]
    return f"{held_out['balanced_accuracy']:.3f} balanced, {low:.3f} to {high:.3f} ({held_out['folds']} folds)"


def facts_of_fit(record: FitRecord) -> dict[str, object]:
    """Of a fit."""
    progress = record.progress
    return {
        "fit": record.id,
        "name": record.name,
        "status": record.status if record.status_detail is None else f"{record.status}, {record.status_detail}",
        "dataset": record.dataset_id,
        "method": record.method,
        "starts": f"{progress.starts_done} of {progress.n_starts}" if progress.n_starts else None,
        "best divergence": None if progress.best_divergence is None else text(progress.best_divergence),
        "error": record.error["message"] if record.error else None,
        "model": record.model_id,
    }


def facts_of_dataset(dataset: Dataset) -> dict[str, object]:
    """Of a dataset."""
    return {
        "dataset": dataset.id,
        "name": dataset.name,
        "rows": dataset.n_rows,
        "features": dataset.n_features,
        "classes": counted(dataset.classes, dataset.class_counts),
        "content": dataset.content_hash,
    }


def counted(labels: Iterable[object], counts: Iterable[int]) -> str:
    """Classes, each with its number of rows."""
    return ", ".join(f"{label} ({count})" for label, count in zip(labels, counts, strict=True))
