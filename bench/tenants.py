"""Many tenants: what one pays for the others. A user header makes each user a tenant."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

from bench.measurement import Measurement, median_seconds
from tests.servers import redis_server
from worker.engine import Engine, Reconciler, open_engine
from worker.store.records import DatasetRecord, FitSubmission
from worker.store.settings import Settings


class NoMessages:
    """Nobody is woken: no fit is to run."""

    def send(self, n_messages: int = 1) -> None:
        """Send nothing."""


def measurements(quick: bool) -> Iterator[Measurement]:
    """Each call on a server with many tenants, in units of the same call on a server with one; they take turns."""
    n_tenants = 500 if quick else 10_000
    with (
        tempfile.TemporaryDirectory() as folder,
        redis_server(Path(folder) / "one") as one,
        redis_server(Path(folder) / "many") as many,
    ):
        engines = [open_engine(Settings(redis_url=server.url)) for server in (many, one)]
        for number in range(n_tenants):
            stored(engines[0], f"tenant {number}")
        many_calls, one_calls = map(calls_of, engines)
        for name, call in many_calls.items():
            seconds, alone = median_seconds(call, one_calls[name], repeats=400)
            note = f"{1e3 * seconds:.2f} ms against {1e3 * alone:.2f} ms"
            yield Measurement(f"{name}: with {n_tenants:,} tenants / with one", seconds / alone, 1.5, note=note)
        for engine in engines:
            engine.close()


def calls_of(engine: Engine) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    dataset = stored(engine, "first")
    seeds = count()

    def submit_and_cancel() -> None:
        asked = FitSubmission(
            dataset_id=dataset.id,
            dataset_hash=dataset.content_hash,
            method="melm",
            params={"seed": next(seeds)},
        )
        engine.fits.cancel("first", engine.fits.submit("first", asked)[0].id)

    return {
        "submit and cancel a fit": submit_and_cancel,
        "`/readyz`": engine.workers.health,
        "`/metrics`": engine.workers.metrics,
        "a sweep": Reconciler(engine, NoMessages()).sweep,
    }


def stored(engine: Engine, tenant: str) -> DatasetRecord:
    """A small dataset of a tenant."""
    return engine.datasets.create(tenant, np.eye(4), np.array([0, 0, 1, 1]))[0]
