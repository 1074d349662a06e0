"""A runner by itself: messages in a list, no Celery, one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from melm.plan import Result, Stage, Unit, run_plan
from tests.worker.samples import stored_dataset, submission, two_blobs
from tests.worker.stand_in import StandIn
from worker.engine import Engine
from worker.engine.codec import decode
from worker.engine.runner import Runner
from worker.store.records import FitRecord, Lease


class Queue:
    """A dispatcher whose messages stay in the process."""

    def __init__(self) -> None:
        self.n_messages = 0

    def send(self, n_messages: int = 1) -> None:
        self.n_messages += n_messages


class Hold:
    """A keeper that is told when to stop."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.stopping = self.lost = self.out_of_time = False

    def hold(self, lease: Lease | None) -> None:
        self.lease = lease

    def should_stop(self) -> bool:
        return self.stopping or self.lost or self.out_of_time

    def is_stopping(self) -> bool:
        return self.stopping

    def is_out_of_time(self) -> bool:
        return self.out_of_time


class Bench:
    """Everything a runner needs, and a fit to run."""

    def __init__(self, store: Engine, tenant: str, library: StandIn | None = None) -> None:
        self.store, self.tenant = store, tenant
        self.queue, self.keeper = Queue(), Hold()
        self.library = library or StandIn()
        self.runner = Runner(store, self.queue, self.library, self.keeper, "here/1/1")

    def submit(self, **params: Any) -> FitRecord:
        fit, _ = self.store.fits.submit(self.tenant, submission(stored_dataset(self.store, self.tenant), **params))
        return fit

    def run(self, fit: FitRecord) -> FitRecord:
        """Work until there is nothing to do."""
        self.runner.take_turn()
        return self.store.fits.get(self.tenant, fit.id)

    def projection(self, fit: FitRecord) -> bytes:
        assert fit.model_id is not None
        V = decode(self.store.models.file(self.tenant, fit.model_id))["projection"]
        assert isinstance(V, np.ndarray)
        return V.tobytes()


class Interrupted(StandIn):
    """Does something in the middle of a unit."""

    def __init__(self, at: str, do: Callable[[], None]) -> None:
        self.at, self.do = at, do

    def run_unit(self, fit: FitRecord, data: Any, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        if unit.name == self.at:
            self.do()
        return super().run_unit(fit, data, unit, should_stop)


def interrupted(store: Engine, tenant: str, at: str, do: Callable[[Bench], None]) -> Bench:
    bench = Bench(store, tenant)
    bench.runner = Runner(store, bench.queue, Interrupted(at, lambda: do(bench)), bench.keeper, "here/1/1")
    return bench


def locally(fit: FitRecord) -> bytes:
    """The same fit without any store."""
    X, _ = two_blobs()

    def run_stage(stage: Stage) -> list[Result | None]:
        return [StandIn().run_unit(fit, X, unit, lambda: False) for unit in stage.units]

    return run_plan(StandIn().plan(fit, X), run_stage).projection.tobytes()
