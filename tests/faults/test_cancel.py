"""A cancel holds, whenever it comes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.deployment import NEVER, TENANT, Deployment, deployment
from tests.servers import wait_until
from worker.store.errors import StoreUnavailable
from worker.store.records import FitRecord, Status


def assert_stays_canceled(deployed: Deployment, fit: FitRecord) -> None:
    """Nothing of the fit runs any more, although other fits do; and a retry makes it whole."""
    n_before = len(deployed.executions(fit))
    other = deployed.submit(n_starts=4, seed=9)
    deployed.wait_for_end(other)
    assert deployed.get(fit).status is Status.CANCELED
    assert len(deployed.executions(fit)) == n_before
    deployed.store.fits.retry(TENANT, fit.id)
    deployed.dispatcher.send()
    deployed.wait_for_end(fit)
    deployed.assert_whole(fit)


@pytest.mark.faults
@pytest.mark.scenario(17, "cancel with no worker up")
def test_while_it_is_queued_and_no_worker_is_up(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        fit = deployed.submit(n_starts=2)
        assert deployed.store.fits.cancel(TENANT, fit.id)[0].status is Status.CANCELED
        with deployed.worker():
            assert_stays_canceled(deployed, fit)


@pytest.mark.scenario(17, "cancel while running")
def test_while_it_runs_frees_the_worker(tmp_path: Path) -> None:
    """With every process busy for minutes, another fit can only run when the cancel stopped the first."""
    with (
        deployment(tmp_path, lease_seconds=NEVER, sweep_seconds=NEVER) as deployed,
        deployed.worker(),
    ):
        fit = deployed.submit(n_starts=6, seconds=300)
        deployed.wait_for_execution(fit, 2)
        deployed.store.fits.cancel(TENANT, fit.id)
        other = deployed.submit(n_starts=2)
        deployed.wait_for_end(other)
        assert deployed.get(fit).status is Status.CANCELED
        assert len(deployed.executions(fit)) == 2


@pytest.mark.faults
def test_a_unit_that_does_not_react_is_killed(tmp_path: Path) -> None:
    with (
        deployment(tmp_path, lease_seconds=NEVER) as deployed,
        deployed.worker(worker_processes=1),
    ):
        fit = deployed.submit(n_starts=1, seconds=300, stuck=["search 0"])
        stuck = deployed.wait_for_execution(fit)
        deployed.store.fits.cancel(TENANT, fit.id)
        other = deployed.submit(n_starts=2)
        assert deployed.wait_for_execution(other).pid != stuck.pid
        deployed.wait_for_end(other)
        assert deployed.get(fit).status is Status.CANCELED
        assert len(deployed.executions(fit)) == 1


@pytest.mark.faults
def test_to_keep_the_best_gives_a_model_at_once(tmp_path: Path) -> None:
    with deployment(tmp_path, lease_seconds=NEVER) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=100, seconds=0.3)
        deployed.wait_for_execution(fit, 5)
        kept, changed = deployed.store.fits.cancel(TENANT, fit.id, keep_best=True)
        deployed.dispatcher.send()
        assert (kept.status, changed) == (Status.RUNNING, True)
        ended = deployed.wait_for_end(fit)
        assert ended.status is Status.SUCCEEDED
        assert 1 <= deployed.store.models.card(TENANT, ended.model_id or "")["n_starts"] < 10


@pytest.mark.faults
def test_a_time_budget_ends_it_with_the_best(tmp_path: Path) -> None:
    with deployment(tmp_path, lease_seconds=NEVER) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=100, seconds=0.2, budget=1.0)
        ended = deployed.wait_for_end(fit)
        assert (ended.status, ended.cancel) == (Status.SUCCEEDED, "out_of_time")
        assert len(deployed.executions(fit)) < 30
        nothing = deployed.wait_for_end(deployed.submit(n_starts=2, seconds=300, budget=0.5))
        assert nothing.error is not None
        assert (nothing.status, nothing.error.type) == (Status.FAILED, "OutOfTime")


@pytest.mark.faults
@pytest.mark.scenario(17, "cancel during a server restart")
def test_while_the_server_restarts(tmp_path: Path) -> None:
    with deployment(tmp_path, store_timeout_seconds=0.5) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=8, seconds=0.5)
        deployed.wait_for_execution(fit, 3)
        deployed.server.kill()
        with pytest.raises(StoreUnavailable):
            deployed.store.fits.cancel(TENANT, fit.id)
        deployed.server.start()
        wait_until(lambda: canceled(deployed, fit))
        assert_stays_canceled(deployed, fit)


def canceled(deployed: Deployment, fit: FitRecord) -> bool:
    try:
        return deployed.store.fits.cancel(TENANT, fit.id)[0].status is Status.CANCELED
    except StoreUnavailable:
        return False


@pytest.mark.faults
@pytest.mark.scenario(17, "cancel while queued behind others")
def test_while_it_is_queued_behind_others(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker(worker_processes=1):
        busy = deployed.submit(n_starts=1, seconds=1)
        deployed.wait_for_execution(busy)
        fit = deployed.submit(n_starts=2, seed=1)
        assert deployed.store.fits.cancel(TENANT, fit.id)[0].status is Status.CANCELED
        deployed.wait_for_end(busy)
        deployed.assert_whole(busy)
        assert deployed.executions(fit) == []
        assert_stays_canceled(deployed, fit)


@pytest.mark.faults
@pytest.mark.scenario(17, "cancel just {when} the end")
@pytest.mark.parametrize("when", ["before", "after"])
def test_around_the_end_it_is_one_or_the_other(tmp_path: Path, when: str) -> None:
    """The process that ends the fit is stopped just before or after it does."""
    with deployment(tmp_path, lease_seconds=NEVER, kill_seconds=NEVER) as deployed:
        environment = deployed.mishap(f"SIGSTOP {when} publish")
        with deployed.worker(module="tests.faults.mishap", environment=environment) as worker:
            fit = deployed.submit(n_starts=2)
            wait_until(lambda: any(map(is_stopped, worker.children())))
            answered, changed = deployed.store.fits.cancel(TENANT, fit.id)
            worker.send(signal.SIGCONT)
            if when == "before":
                assert (answered.status, changed) == (Status.CANCELED, True)
                assert_stays_canceled(deployed, fit)
            else:
                assert (answered.status, changed) == (Status.SUCCEEDED, False)
                deployed.assert_whole(fit)


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
