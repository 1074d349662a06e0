"""A whole deployment for fault tests: server, workers, and an API or the test in its place."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

from melm.plan import Result, Stage, run_plan
from tests.servers import DEFAULT_TIMEOUT_SECONDS, RedisServer, WorkerProcess, redis_server, wait_until, worker_process
from tests.service.api import Api, api_process
from tests.worker.samples import submission, two_blobs
from tests.worker.stand_in import StandIn
from worker.engine import Engine, open_engine
from worker.engine.codec import decode
from worker.engine.dispatch import CeleryDispatcher
from worker.store.errors import StoreUnavailable
from worker.store.records import DatasetRecord, FitRecord, Status
from worker.store.settings import Settings

TENANT = "default"
NEVER = 600.0  # a lease, grace or sweep of which nothing in a test sees the end
N_POLISHED = 2  # starts that the stand-in goes on with
QUICK: dict[str, Any] = {
    "lease_seconds": 1.5,
    "renew_seconds": 0.3,
    "sweep_seconds": 0.3,
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
    n_lost: int
    n_duplicated: int
    recovery_seconds: list[float]


TALLIES: list[Tally] = []  # of the running test


@dataclass
class Deployment:
    """A server, and what is needed to submit fits and to follow them."""

    folder: Path
    server: RedisServer
    settings: dict[str, Any]
    store: Engine = field(init=False)
    dispatcher: CeleryDispatcher = field(init=False)
    dataset: DatasetRecord = field(init=False)
    fits: list[FitRecord] = field(default_factory=list)
    faults: list[float] = field(default_factory=list)
    recovery_seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The test itself is patient: on a busy machine an answer may take seconds, and that is no fault.
        patient = {**self.settings, "store_timeout_seconds": DEFAULT_TIMEOUT_SECONDS}
        settings = Settings(redis_url=self.server.url, **patient)
        self.store = open_engine(settings)
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

    def api(
        self, *, environment: Mapping[str, str] | None = None, prefix: tuple[str, ...] = (), **settings: Any
    ) -> AbstractContextManager[Api]:
        """An API, by default with the deployment's settings."""
        return api_process(
            self.server.url,
            self.folder / "api.log",
            module="tests.faults.api",
            environment=environment,
            prefix=prefix,
            **{**self.settings, **settings},
        )

    def mishap(self, words: str, *, every: int = 1, times: int = 1) -> dict[str, str]:
        """The environment of a process to which this happens; see `tests.faults.mishap`."""
        self.mishaps.mkdir()
        return {
            "MISHAP": words,
            "MISHAP_EVERY": str(every),
            "MISHAP_TIMES": str(times),
            "MISHAP_FOLDER": str(self.mishaps),
        }

    @property
    def mishaps(self) -> Path:
        """The folder in which mishaps are counted."""
        return self.folder / "mishaps"

    def wait_for_mishap(self, number: int = 1) -> None:
        """The process is about to be hit for the n-th time."""
        wait_until((self.mishaps / f"mishap {number}").exists)

    def post(self, client: httpx2.Client, key: str | None = None, **params: Any) -> httpx2.Response:
        """Ask the API for a fit. One that it acknowledges has to end."""
        asked = submission(self.dataset, trace=str(self.trace), **params)
        body = {"dataset_id": asked.dataset_id, "method": asked.method, "params": asked.params}
        headers = {} if key is None else {"Idempotency-Key": key}
        response = client.post("/v1/fits", json={**body, "validation": None, "force": True}, headers=headers)
        if response.status_code in (200, 202) and response.json()["id"] not in {fit.id for fit in self.fits}:
            self.fits.append(self.store.fits.get(TENANT, response.json()["id"]))
        return response

    def submit(self, **params: Any) -> FitRecord:
        """A fit, stored and sent."""
        fit = self.store_only(**params)
        self.dispatcher.send()
        return fit

    def store_only(self, **params: Any) -> FitRecord:
        """A fit, stored; no message is sent."""
        asked = submission(self.dataset, force=True, trace=str(self.trace), **params)
        fit, _ = self.store.fits.submit(TENANT, asked)
        self.fits.append(fit)
        return fit

    def fault(self) -> None:
        """Something is about to go wrong, or is right again: the recovery that follows is timed from here."""
        self.faults.append(time.monotonic())

    def get(self, fit: FitRecord) -> FitRecord:
        """The fit as it stands now."""
        return self.store.fits.get(TENANT, fit.id)

    def wait_for_end(self, fit: FitRecord, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> FitRecord:
        """The fit, ended."""
        wait_until(lambda: not self.get(fit).is_active, timeout_seconds)
        return self.get(fit)

    def executions(self, fit: FitRecord | None = None, unit: str | None = None) -> list[Execution]:
        """What was run so far, in order: of all fits, of one, or of one unit."""
        found = []
        for path in self.trace.iterdir():
            fit_id, rest = path.name.split(" ", 1)
            name, pid, at = rest.rsplit(" ", 2)
            if (fit is None or fit_id == fit.id) and unit in (None, name):
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

    def assert_whole(self, *fits: FitRecord) -> None:
        """Each fit succeeded, once, each unit's result was stored once, and V is the one of a fault-free run."""
        n_models = self.n_models()
        for fit in map(self.get, fits):
            assert fit.status is Status.SUCCEEDED, fit.error
            assert self.event_types(fit).count("start_done") == n_units(fit)
            assert n_models[fit.id] == 1
            assert self.n_duplicated(fit, n_models) == 0
            file = self.store.models.file(TENANT, fit.model_id or "")
            assert decode(file)["projection"].tobytes() == fault_free(fit)

    def n_duplicated(self, fit: FitRecord, n_models: Counter[str]) -> int:
        """How often something was stored again that a fit may have once: a unit's result, its end, its model."""
        types = self.event_types(fit)
        n_ends = sum(types.count(status) for status in ("succeeded", "failed", "canceled"))
        n_results = types.count("start_done") if fit.method == "stand_in" else 0  # others: more than one a start
        return max(n_results - n_units(fit), 0) + max(n_ends - fit.attempts, 0) + max(n_models[fit.id] - 1, 0)

    def n_models(self) -> Counter[str]:
        """How many models each fit has left behind."""
        found: Counter[str] = Counter()
        cursor = None
        while True:
            page = self.store.models.page(TENANT, limit=1000, cursor=cursor)
            found.update(model.fit_id for model in page.data if model.fit_id is not None)
            if (cursor := page.next_cursor) is None:
                return found

    def tally(self) -> Tally:
        """What became of the fits, and how long it took to go on after each fault."""
        fits = [self.get(fit) for fit in self.fits]
        n_models = self.n_models()
        return Tally(
            n_fits=len(fits),
            n_lost=sum(fit.is_active for fit in fits),
            n_duplicated=sum(self.n_duplicated(fit, n_models) for fit in fits),
            recovery_seconds=[*self.recovery_seconds, *self._recoveries()],
        )

    def _recoveries(self) -> Iterator[float]:
        """From each fault to the next execution of a unit that it had interrupted; of any, where there is none."""
        runs = self.executions()
        written = [path.read_text() for path in self.mishaps.glob("mishap *")]
        mishaps = [float(text) for text in written if text]  # a process may end before it has written
        faults = sorted([*self.faults, *mishaps])
        for fault, following in pairwise([*faults, math.inf]):
            before = {(run.fit_id, run.unit) for run in runs if run.at <= fault}
            after = [run for run in runs if fault < run.at < following]
            again = [run for run in after if (run.fit_id, run.unit) in before]
            if after:
                yield (again or after)[0].at - fault


def n_units(fit: FitRecord) -> int:
    """How many units the stand-in makes of a fit: its starts, and the best of them once more."""
    n_starts = int(fit.params["n_starts"])
    return n_starts + min(n_starts, N_POLISHED)


def fault_free(fit: FitRecord) -> bytes:
    """The projection that the fit gives when nothing goes wrong."""
    X, _ = two_blobs()
    quiet = fit.model_copy(update={"params": {"n_starts": fit.params["n_starts"], "seed": fit.params["seed"]}})

    def run_stage(stage: Stage) -> list[Result | None]:
        return [StandIn().run_unit(quiet, X, unit, lambda: False) for unit in stage.units]

    return run_plan(StandIn().plan(quiet, X), run_stage).projection.tobytes()


@contextmanager
def deployment(
    folder: Path, *, address: str | None = None, prefix: tuple[str, ...] = (), **settings: Any
) -> Iterator[Deployment]:
    """A server with quick settings, and no worker yet."""
    with redis_server(folder / "redis", address=address, prefix=prefix) as server:
        deployed = Deployment(folder, server, {**QUICK, **settings})
        try:
            yield deployed
        finally:
            with suppress(StoreUnavailable):
                TALLIES.append(deployed.tally())
            deployed.store.close()


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)
