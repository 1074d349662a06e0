"""Many tenants: what one pays for the others. A user header makes each user a tenant."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median

import numpy as np

from bench.measurement import Measurement, best_seconds
from tests.servers import redis_server
from worker.engine import Engine, Reconciler, open_engine
from worker.store.records import DatasetRecord, FitSubmission
from worker.store.settings import Settings


class NoMessages:
    """Nobody is woken: no fit is to run."""

    def send(self, n_messages: int = 1) -> None:
        """Send nothing."""


def measurements(quick: bool) -> Iterator[Measurement]:
    """Each call with many tenants, in units of the same call with one."""
    n_tenants = 500 if quick else 10_000
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder) / "redis") as server:
        engine = open_engine(Settings(redis_url=server.url))
        numbers = count()
        dataset = stored(engine, "first")
        reconciler = Reconciler(engine, NoMessages())

        def submit_and_cancel() -> None:
            asked = FitSubmission(
                dataset_id=dataset.id,
                dataset_hash=dataset.content_hash,
                method="melm",
                params={"seed": next(numbers)},
            )
            engine.fits.cancel("first", engine.fits.submit("first", asked)[0].id)

        calls: dict[str, Callable[[], object]] = {
            "submit and cancel a fit": submit_and_cancel,
            "`/readyz`": engine.workers.health,
            "`/metrics`": engine.workers.metrics,
            "a sweep": reconciler.sweep,
        }
        alone = {name: typical(call) for name, call in calls.items()}
        for number in range(n_tenants):
            stored(engine, f"tenant {number}")
        for name, call in calls.items():
            ratio = typical(call) / alone[name]
            yield Measurement(f"{name}: with {n_tenants:,} tenants / with one", ratio, at_most=1.5)
        engine.close()


def typical(call: Callable[[], object]) -> float:
    """The median of many calls, since one takes about a millisecond."""
    return median(best_seconds(call, 1) for _ in range(200))


def stored(engine: Engine, tenant: str) -> DatasetRecord:
    """A small dataset of a tenant."""
    return engine.datasets.create(tenant, np.eye(4), np.array([0, 0, 1, 1]))[0]
