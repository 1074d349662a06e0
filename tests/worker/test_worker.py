"""The real worker with the real library: what it fits is what the library fits, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm.data.labeled import Labeled
from melm.evidence.validation import Validation
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import file as model_file
from melm.plan import Result, Stage, run_plan
from tests.servers import ROOT, RedisServer, redis_server, wait_until, worker_process
from tests.worker.samples import stored_dataset, submission, two_blobs
from worker.engine import Engine, open_engine
from worker.engine.dispatch import CeleryDispatcher
from worker.store.records import FitRecord, FitSubmission, Status
from worker.store.settings import Settings

VALIDATION = {"folds": 3, "repeats": 1}


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two processes"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    folder = tmp_path_factory.mktemp("running")
    with (
        redis_server(folder / "redis") as server,
        worker_process(server.url, folder / "worker.log", worker_processes=request.param),
    ):
        yield server


@pytest.fixture
def own(running: RedisServer) -> Iterator[Engine]:
    store = open_engine(Settings(redis_url=running.url))
    yield store
    store.close()


def fitted(store: Engine, params: dict[str, Any], validation: dict[str, Any] | None) -> FitRecord:
    dataset, _ = store.datasets.create("default", *two_blobs(60, 4), feature_names=["a", "b", "c", "d"])
    asked = FitSubmission(
        dataset_id=dataset.id,
        dataset_hash=dataset.content_hash,
        method="melm",
        params=params,
        validation=validation,
        force=True,
    )
    fit, _ = store.fits.submit("default", asked)
    CeleryDispatcher(store.settings).send()
    wait_until(lambda: not store.fits.get("default", fit.id).is_active, 60)
    return store.fits.get("default", fit.id)


@pytest.mark.parametrize("validation", [None, VALIDATION], ids=["alone", "validated"])
def test_a_fit_is_the_librarys_own_bit_for_bit(own: Engine, validation: dict[str, Any] | None) -> None:
    parameters = METHODS["melm"].Parameters(regularization=None, n_starts=4, seed=3)
    fit = fitted(own, parameters.model_dump(mode="json"), validation)
    assert fit.status is Status.SUCCEEDED, fit.error
    data = Labeled.check(*two_blobs(60, 4), feature_names=["a", "b", "c", "d"])

    def run_stage(stage: Stage) -> list[Result | None]:
        return [run_unit("melm", data, parameters, unit) for unit in stage.units]

    chosen = None if validation is None else Validation(**validation)
    local = run_plan(plan_fit("melm", data, parameters, chosen), run_stage)
    file = own.models.file("default", fit.model_id or "")
    assert file == model_file.dump(local)
    assert fit.starts_done == 4
    assert fit.best_divergence is not None
    assert np.isfinite(fit.best_divergence)


def test_the_worker_says_that_it_is_alive(running: RedisServer, tmp_path: Path) -> None:
    def alive(url: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "MELM_REDIS_URL": url}
        command = [sys.executable, "-m", "worker.healthcheck"]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert alive(running.url).returncode == 0
    with redis_server(tmp_path) as empty:
        answer = alive(empty.url)
    assert (answer.returncode, answer.stderr) == (1, "No worker of this host has a fresh heartbeat.\n")
    answer = alive(empty.url)
    assert (answer.returncode, answer.stderr) == (1, "The store does not answer.\n")


@pytest.mark.parametrize(("limit", "n_processes"), [(1 << 20, 3), (1 << 30, 1)], ids=["little", "enough"])
def test_a_process_that_has_taken_much_memory_is_replaced_between_fits(
    tmp_path: Path, limit: int, n_processes: int
) -> None:
    """Every process has more than a mebibyte. All units of one fit, short as it is, run in one process nevertheless."""
    trace = tmp_path / "trace"
    trace.mkdir()
    with redis_server(tmp_path / "redis") as server:
        store = open_engine(Settings(redis_url=server.url))
        dataset = stored_dataset(store, "default")
        asked = submission(dataset, trace=str(trace), n_starts=3, force=True)
        fits = [store.fits.submit("default", asked)[0] for _ in range(3)]
        options: dict[str, Any] = {"module": "tests.worker.stand_in", "worker_processes": 1, "turn_seconds": 60}
        with worker_process(server.url, tmp_path / "log", process_memory_bytes=limit, sweep_seconds=0.3, **options):
            wait_until(lambda: not any(store.fits.get("default", fit.id).is_active for fit in fits), 60)
        store.close()
    names = [path.name.split() for path in trace.iterdir()]  # fit, unit, process, time
    assert len({(name[0], name[-2]) for name in names}) == len(fits)
    assert len({name[-2] for name in names}) == n_processes


def test_a_worker_that_cannot_stop_is_killed_with_its_processes(tmp_path: Path) -> None:
    """And its unit is given to another worker once its lease has ended."""
    trace = tmp_path / "trace"
    trace.mkdir()
    with redis_server(tmp_path / "redis") as server:
        store = open_engine(Settings(redis_url=server.url))
        asked = submission(
            stored_dataset(store, "default"), trace=str(trace), n_starts=1, seconds=300, stuck=["search 0"]
        )
        store.fits.submit("default", asked)
        options: dict[str, Any] = {"module": "tests.worker.stand_in", "worker_processes": 1, "stop_seconds": 0.5}
        with worker_process(server.url, tmp_path / "log", lease_seconds=1, renew_seconds=0.3, **options) as worker:
            wait_until(lambda: [*trace.iterdir()])
            children = worker.children()
            assert worker.terminate() == -signal.SIGKILL
            wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
            assert "did not stop in time" in worker.log.read_text()
            worker.start()
            wait_until(lambda: len([*trace.iterdir()]) == 2)
        store.close()
