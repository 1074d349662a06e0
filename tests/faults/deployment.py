"""A whole deployment for fault tests: server, workers, and the test in the place of the API."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from melm.plan import Result, Stage, run_plan
from tests.servers import RedisServer, WorkerProcess, redis_server, wait_until, worker_process
from tests.worker.samples import submission, two_blobs
from tests.worker.stand_in import StandIn
from worker.contract.codec import decode
from worker.contract.dispatch import CeleryDispatcher
from worker.contract.records import DatasetRecord, FitRecord, ModelRecord, Status
from worker.contract.settings import Settings
from worker.contract.store import Store, open_store

TENANT = "default"
NEVER = 600.0  # a lease, grace or sweep of which nothing in a test sees the end
QUICK: dict[str, Any] = {
    "lease_seconds": 1.5,
    "renew_seconds": 0.3,
    "sweep_seconds": 0.3,
    "grace_seconds": 1.0,
    "cancel_poll_seconds": 0.1,
    "kill_seconds": 1.0,
}


@dataclass(frozen=True)
class Execution:
    """One time that a unit was run, as it wrote down itself."""

    fit_id: str
    unit: str
    pid: int
    at: float  # on the monotonic clock


@dataclass(frozen=True)
class Tally:
    """What one run of a fault test saw."""

    n_fits: int
    n_active: int
    n_duplicated: int
    n_units_run_again: int
    standstill_seconds: float | None


TALLIES: defaultdict[str, list[Tally]] = defaultdict(list)  # by test


@dataclass
class Deployment:
    """A server, and what is needed to submit fits and to follow them."""

    folder: Path
    server: RedisServer
    settings: dict[str, Any]
    store: Store = field(init=False)
    dispatcher: CeleryDispatcher = field(init=False)
    dataset: DatasetRecord = field(init=False)
    fits: list[FitRecord] = field(default_factory=list)
    fault_at: float | None = None

    def __post_init__(self) -> None:
        settings = Settings(redis_url=self.server.url, **self.settings)
        self.store = open_store(settings)
        self.dispatcher = CeleryDispatcher(settings)
        self.dataset, _ = self.store.datasets.create(TENANT, *two_blobs())
        self.trace.mkdir()

    @property
    def trace(self) -> Path:
        """The folder in which executions leave their files."""
        return self.folder / "trace"

    def worker(
        self,
        *,
        module: str = "tests.worker.stand_in",
        environment: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        **settings: Any,
    ) -> AbstractContextManager[WorkerProcess]:
        """One more worker, by default with the deployment's settings."""
        return worker_process(
            self.server.url,
            self.folder / "worker.log",
            module=module,
            environment=environment,
            prefix=prefix,
            **{"worker_processes": 2, **self.settings, **settings},
        )

    def submit(self, **params: Any) -> FitRecord:
        """A fit, stored and sent."""
        fit = self.store_only(**params)
        self.dispatcher.send(TENANT, fit.id)
        return fit

    def store_only(self, **params: Any) -> FitRecord:
        """A fit, stored; no message is sent."""
        asked = submission(self.dataset, force=True, trace=str(self.trace), **params)
        fit, _ = self.store.fits.submit(TENANT, asked)
        self.fits.append(fit)
        return fit

    def fault(self) -> float:
        """Something is about to go wrong: the standstill that follows is timed from here."""
        self.fault_at = time.monotonic()
        return self.fault_at

    def get(self, fit: FitRecord) -> FitRecord:
        """The fit as it stands now."""
        return self.store.fits.get(TENANT, fit.id)

    def wait_for_end(self, fit: FitRecord, timeout_seconds: float = 30.0) -> FitRecord:
        """The fit, ended."""
        wait_until(lambda: not self.get(fit).is_active, timeout_seconds)
        return self.get(fit)

    def executions(self, fit: FitRecord, unit: str | None = None) -> list[Execution]:
        """What was run so far, in order."""
        found = []
        for path in self.trace.iterdir():
            fit_id, rest = path.name.split(" ", 1)
            name, pid, at = rest.rsplit(" ", 2)
            if fit_id == fit.id and unit in (None, name):
                found.append(Execution(fit_id, name, int(pid), int(at) / 1e9))
        return sorted(found, key=lambda execution: execution.at)

    def wait_for_execution(self, fit: FitRecord, n: int = 1, unit: str | None = None) -> Execution:
        """The n-th time that something was run, or that unit."""
        wait_until(lambda: len(self.executions(fit, unit)) >= n)
        return self.executions(fit, unit)[n - 1]

    def times_run(self, fit: FitRecord) -> Counter[str]:
        """How often each unit was run."""
        return Counter(execution.unit for execution in self.executions(fit))

    def event_types(self, fit: FitRecord) -> list[str]:
        """What happened to the fit."""
        return [event.type for event in self.store.fits.events(TENANT, fit.id, limit=10_000)]

    def assert_whole(self, fit: FitRecord) -> None:
        """The fit succeeded, once, with the projection that a fault-free run gives."""
        fit = self.get(fit)
        assert fit.status is Status.SUCCEEDED, fit.error
        assert self.event_types(fit).count("succeeded") == 1
        file = self.store.models.file(TENANT, fit.model_id or "")
        assert decode(file)["projection"].tobytes() == fault_free(fit)
        assert len(self.models_of(fit)) == 1

    def models_of(self, fit: FitRecord) -> list[ModelRecord]:
        """The models that the fit left behind: one, or none."""
        return [model for model in self.store.models.page(TENANT, limit=1000).data if model.fit_id == fit.id]

    def tally(self) -> Tally:
        """What became of the fits, and how long the last fault held them up."""
        fits = [self.get(fit) for fit in self.fits]
        resumed = [each.at for fit in fits for each in self.executions(fit) if each.at > (self.fault_at or math.inf)]
        return Tally(
            n_fits=len(fits),
            n_active=sum(fit.is_active for fit in fits),
            n_duplicated=sum(len(self.models_of(fit)) > 1 for fit in fits),
            n_units_run_again=sum(times - 1 for fit in fits for times in self.times_run(fit).values()),
            standstill_seconds=min(resumed) - self.fault_at if resumed and self.fault_at else None,
        )


def fault_free(fit: FitRecord) -> bytes:
    """The projection that the fit gives when nothing goes wrong."""
    X, _ = two_blobs()
    quiet = fit.model_copy(update={"params": {"n_starts": fit.params["n_starts"], "seed": fit.params["seed"]}})

    def run_stage(stage: Stage) -> list[Result | None]:
        return [StandIn().run(quiet, X, unit, lambda: False) for unit in stage.units]

    return run_plan(StandIn().plan(quiet, X), run_stage).projection.tobytes()


@contextmanager
def deployment(folder: Path, *server_options: str, **settings: Any) -> Iterator[Deployment]:
    """A server with quick settings, and no worker yet."""
    with redis_server(folder / "redis", *server_options) as server:
        deployed = Deployment(folder, server, {**QUICK, **settings})
        try:
            yield deployed
            TALLIES[current_test()].append(deployed.tally())
        finally:
            deployed.store.close()


def current_test() -> str:
    """The name of the running test, without what tells one repeat from another."""
    name = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split(" ")[0]
    return re.sub(r"-?repeat\d+-?", "", name).replace("[]", "")


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)
