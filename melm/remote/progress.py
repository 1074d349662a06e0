"""A bar that shows how far a fit has come, in terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from melm.remote.records import FitRecord


def is_watched() -> bool:
    """Whether somebody looks: a terminal, or a notebook, whose output is none."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def progress_bar(first: FitRecord, visible: bool | None = None) -> Iterator[Callable[[FitRecord], None]]:
    """A function that shows how a fit stands; it does nothing where nobody looks."""
    if not (is_watched() if visible is None else visible):
        yield lambda record: None
        return
    from tqdm import tqdm  # only where it is used: it reads the terminal when it is loaded

    layout = "{desc} |{bar:24}| {n_fmt}/{total_fmt} starts{postfix}"
    with tqdm(desc=first.status, total=first.progress.n_starts or 0, bar_format=layout, file=sys.stderr) as bar:

        def show(record: FitRecord) -> None:
            bar.total = record.progress.n_starts or 0
            bar.n = record.progress.starts_done
            bar.set_description_str(record.status, refresh=False)
            bar.set_postfix_str(", ".join(describe(record)), refresh=False)
            bar.refresh()

        yield show


def describe(record: FitRecord) -> Iterator[str]:
    """What there is to say beside the number of starts."""
    progress = record.progress
    if progress.best_divergence is not None:
        yield f"best divergence {progress.best_divergence:.4g}"
    if record.is_active and progress.eta_seconds:
        yield f"about {progress.eta_seconds:.0f} s left"
    if record.status_detail:
        yield record.status_detail
