"""Processes that die, freeze or are told to stop."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.deployment import NEVER, TENANT, deployment, kill
from tests.servers import DEFAULT_TIMEOUT_SECONDS, wait_until
from worker.store.process import identity, is_dead_here
from worker.store.records import Status


@pytest.mark.scenario(1, "child killed in the middle of a start")
def test_a_killed_child_is_replaced_and_its_unit_resumed(tmp_path: Path) -> None:
    """No lease, grace or sweep ends in this test: the parent itself sees that its child is dead."""
    with (
        deployment(tmp_path, lease_seconds=NEVER, sweep_seconds=NEVER) as deployed,
        deployed.worker(),
    ):
        fit = deployed.submit(n_starts=3, seconds=0.4)
        first = deployed.wait_for_execution(fit)
        deployed.fault()
        kill(first.pid)
        again = deployed.wait_for_execution(fit, 2, unit=first.unit)
        assert again.pid != first.pid
        assert deployed.wait_for_end(fit).recoveries == 1
        deployed.assert_whole(fit)
        assert deployed.times_run(fit) == {first.unit: 2} | {
            unit: 1 for unit in deployed.times_run(fit) if unit != first.unit
        }


@pytest.mark.scenario(2, "whole worker killed")
def test_a_killed_worker_is_followed_by_the_next(tmp_path: Path) -> None:
    """Leases do not end in this test: the next worker sees that the processes of the first are dead."""
    with deployment(tmp_path, lease_seconds=NEVER) as deployed:
        with deployed.worker() as worker:
            fit = deployed.submit(n_starts=4, seconds=0.4)
            deployed.wait_for_execution(fit, 3)
            deployed.fault()
            worker.kill()
        done = set(deployed.times_run(fit)) - {lease.unit for lease in deployed.store.units.leases()}
        assert done
        with deployed.worker():
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert all(deployed.times_run(fit)[unit] == 1 for unit in done)


@pytest.mark.faults
@pytest.mark.scenario(10, "worker frozen beyond its lease")
def test_a_frozen_worker_loses_its_unit_and_is_refused_later(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker(worker_processes=1) as frozen:
        fit = deployed.submit(n_starts=2, seconds=0.5)
        first = deployed.wait_for_execution(fit)
        lease = deployed.store.units.leases()[0]
        deployed.fault()
        frozen.send(signal.SIGSTOP)
        with deployed.worker(worker_processes=1):
            deployed.wait_for_end(fit)
            assert deployed.get(fit).recoveries >= 1
            assert deployed.times_run(fit)[first.unit] == 2
            ended = deployed.get(fit)
            frozen.send(signal.SIGCONT)
            another = deployed.submit(n_starts=6, seconds=0.3)  # enough that the thawed one takes part
            deployed.wait_for_end(another)
            assert first.pid in {execution.pid for execution in deployed.executions(another)}
        assert deployed.get(fit) == ended
        assert not deployed.store.units.is_held(lease)
        deployed.assert_whole(fit)
        deployed.assert_whole(another)


@pytest.mark.scenario(6, "a start that always crashes")
def test_a_start_that_always_crashes_is_given_up(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        fit = deployed.wait_for_end(deployed.submit(n_starts=3, crashes=["search 1"]))
        assert fit.status is Status.SUCCEEDED
        assert deployed.times_run(fit)["search 1"] == 3
        assert deployed.store.models.card(TENANT, fit.model_id or "")["n_starts"] == 2
        error = deployed.store.units.first_error(TENANT, fit.id)
        assert error is not None
        assert error.message == "The process that ran it was lost 3 times."


@pytest.mark.faults
@pytest.mark.scenario(6, "all starts crash")
def test_a_fit_of_which_all_starts_crash_fails_with_a_reason(tmp_path: Path) -> None:
    with deployment(tmp_path, max_attempts=2) as deployed, deployed.worker():
        fit = deployed.wait_for_end(deployed.submit(n_starts=2, crashes=["search 0", "search 1"]))
        assert fit.status is Status.FAILED
        assert fit.error is not None
        assert fit.error.message == "The process that ran it was lost 2 times."
        assert set(deployed.times_run(fit).values()) == {2}
        healthy = deployed.submit(n_starts=2)
        deployed.wait_for_end(healthy)
        deployed.assert_whole(healthy)


@pytest.mark.faults
@pytest.mark.scenario(16, "SIGTERM during starts")
def test_a_worker_that_is_told_to_stop_hands_its_units_back(tmp_path: Path) -> None:
    """With one attempt per unit: a hand-over that counted as one would give the unit up."""
    with deployment(tmp_path, lease_seconds=NEVER, max_attempts=1) as deployed:
        with deployed.worker() as worker:
            fit = deployed.submit(n_starts=4, seconds=0.6)
            deployed.wait_for_execution(fit, 2)
            deployed.fault()
            assert worker.terminate() == 0
            assert deployed.store.units.leases() == []
            assert deployed.store.workers.health().workers == []
            assert deployed.get(fit).status is Status.RUNNING
        with deployed.worker():
            deployed.wait_for_end(fit)
        assert deployed.get(fit).recoveries == 0
        deployed.assert_whole(fit)


@pytest.mark.scenario(5, "killed ten times just {point}")
@pytest.mark.parametrize(
    ("point", "every"),
    [
        pytest.param("before claim", 1, marks=pytest.mark.faults),
        pytest.param("after claim", 1, marks=pytest.mark.faults),
        pytest.param("before complete", 3, marks=pytest.mark.faults),
        ("after complete", 3),
    ],
)
def test_a_kill_around_claim_and_complete_loses_nothing(tmp_path: Path, point: str, every: int) -> None:
    """Ten times each, in one fit. A process claims once, when it begins, and completes with each lease."""
    with deployment(tmp_path, max_attempts=20, turn_seconds=0) as deployed:
        environment = deployed.mishap(f"SIGKILL {point}", every=every, times=10)
        with deployed.worker(module="tests.faults.mishap", environment=environment):
            fit = deployed.submit(n_starts=30)
            deployed.wait_for_end(fit, 60)
        deployed.wait_for_mishap(10)
        deployed.assert_whole(fit)


@pytest.mark.faults
@pytest.mark.scenario(3, "parent of a worker killed")
def test_a_killed_parent_leaves_units_that_are_finished_once(tmp_path: Path) -> None:
    """Its children end with it, and the next worker sees that."""
    with deployment(tmp_path) as deployed, deployed.worker() as worker:
        fit = deployed.submit(n_starts=4, seconds=1)
        deployed.wait_for_execution(fit, 2)
        deployed.fault()
        kill(worker.pid)
        with deployed.worker():
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) <= {1, 2}


@pytest.mark.faults
@pytest.mark.scenario(18, "interpreter held for three leases")
def test_a_unit_that_holds_the_interpreter_for_three_leases_is_run_once(tmp_path: Path) -> None:
    """Only the parent can renew its lease."""
    with deployment(tmp_path, lease_seconds=1) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=1, seconds=3.1, holds_interpreter=["search 0"])
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert deployed.times_run(fit)["search 0"] == 1


@pytest.mark.faults
@pytest.mark.scenario(19, "a unit beyond the hard time limit ({manners})")
@pytest.mark.parametrize("manners", ["stuck", "holds_interpreter", "none"])
def test_a_unit_that_takes_too_long_is_given_up_with_a_word(tmp_path: Path, manners: str) -> None:
    """A unit that reacts ends by itself; the process of any other is killed."""
    with deployment(tmp_path, unit_seconds=1) as deployed, deployed.worker():
        fit = deployed.submit(n_starts=1, seconds=20, **{manners: ["search 0"]})
        process = identity(deployed.wait_for_execution(fit).pid)
        fit = deployed.wait_for_end(fit)
        assert fit.error is not None
        assert (fit.status, fit.error.type) == (Status.FAILED, "OutOfTime")
        assert fit.error.message == "It took longer than 1 seconds, the most a unit may take."
        assert deployed.times_run(fit)["search 0"] == 1
        if manners != "none":
            wait_until(lambda: is_dead_here(process))
        healthy = deployed.submit(n_starts=2)
        deployed.wait_for_end(healthy)
        deployed.assert_whole(healthy)
        assert is_dead_here(process) == (manners != "none")


@pytest.mark.faults
@pytest.mark.scenario(21, "a worker's clock off by an hour")
def test_a_clock_that_is_off_by_an_hour_has_no_effect(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        late = {"CLOCK_OFFSET_SECONDS": "3600"}
        with deployed.worker(module="tests.faults.skewed_worker", environment=late), deployed.worker():
            fit = deployed.submit(n_starts=10, seconds=0.3)
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}
        assert len({execution.pid for execution in deployed.executions(fit)}) > 2  # both took part


@pytest.mark.scenario(0, "worker alive but not consuming")
def test_a_worker_whose_consumer_hangs_ends_so_that_another_can_begin(tmp_path: Path) -> None:
    """Its heart beats on, it hears no signal, and it has taken a message that nobody will see again."""
    with deployment(tmp_path, stalled_seconds=2) as deployed:
        environment = deployed.mishap("HANG before note")
        with deployed.worker(module="tests.faults.mishap", environment=environment) as hanging:
            children = [identity(pid) for pid in hanging.children()]
            fit = deployed.submit(n_starts=2)
            assert hanging.process.wait(DEFAULT_TIMEOUT_SECONDS) == -signal.SIGKILL
            wait_until(lambda: all(map(is_dead_here, children)))
        assert "fits wait, but the worker receives no messages" in (tmp_path / "worker.log").read_text()
        deployed.dispatcher.send()
        with deployed.worker():
            deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
