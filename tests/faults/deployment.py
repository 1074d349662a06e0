"""A whole deployment for fault tests: server, workers, and the test in the place of the API."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
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
from worker.contract.records import DatasetRecord, FitRecord, Status
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


@dataclass
class Deployment:
    """A server, and what is needed to submit fits and to follow them."""

    folder: Path
    server: RedisServer
    settings: dict[str, Any]
    store: Store = field(init=False)
    dispatcher: CeleryDispatcher = field(init=False)
    dataset: DatasetRecord = field(init=False)

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
        return self.store.fits.submit(TENANT, asked)[0]

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
        models = [model for model in self.store.models.page(TENANT, limit=1000).data if model.fit_id == fit.id]
        assert len(models) == 1


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
        finally:
            deployed.store.close()


def kill(pid: int) -> float:
    """kill -9; answers when."""
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()
