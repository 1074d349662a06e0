"""A progress bar for fits, in terminals and notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from melm.remote.records import FitRecord

LAYOUT = "{desc} |{bar:24}| {percentage:3.0f}%{postfix}"


def is_watched() -> bool:
    """Whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def progress_bar(first: FitRecord, visible: bool) -> Iterator[Callable[[FitRecord], None]]:
    """A function that updates the progress bar; without one it does nothing."""
    if not visible:
        yield lambda record: None
        return
    with kind_of_bar()(desc=stage_of(first), total=1.0, bar_format=LAYOUT, file=sys.stderr) as bar:

        def show(record: FitRecord) -> None:
            bar.n = share_of(record)
            bar.set_description_str(stage_of(record), refresh=False)
            bar.set_postfix_str(", ".join(describe(record)), refresh=False)
            bar.refresh()

        yield show


def kind_of_bar() -> Any:
    """The class of the progress bar: widgets in notebooks, text elsewhere. Imported late: it accesses the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about missing notebook widgets
        from tqdm.auto import tqdm
    return tqdm


def stage_of(record: FitRecord) -> str:
    """The phase of a running fit, else its status."""
    return record.progress.phase or record.status


def share_of(record: FitRecord) -> float:
    """The share of the work that is done; for a service of version 0.1 the share of starts."""
    progress = record.progress
    if progress.share_done is not None:
        return progress.share_done
    return progress.starts_done / progress.n_starts if progress.n_starts else 0.0


def describe(record: FitRecord) -> Iterator[str]:
    """The text beside the bar: starts or folds, best divergence, time left."""
    progress = record.progress
    if progress.n_starts and progress.phase != "evidence":
        yield f"{progress.starts_done} of {progress.n_starts} starts"
    if progress.phase == "evidence":
        yield fit_under_way(record)
    if progress.best_divergence is not None:
        yield f"best divergence {progress.best_divergence:.4g}"
    if record.is_active and progress.eta_seconds:
        yield f"about {progress.eta_seconds:.0f} s left"
    if record.status_detail:
        yield record.status_detail


def fit_under_way(record: FitRecord) -> str:
    """The current fit of the validation, estimated from the share of the work."""
    n_fits = record.n_fits - 1
    number = min(max(int(share_of(record) * record.n_fits), 1), n_fits)
    validation = record.validation or {}
    n_folds = validation.get("folds", 0) * validation.get("repeats", 1)
    return f"{'fold' if n_fits == n_folds else 'fit'} {number} of {n_fits}"
