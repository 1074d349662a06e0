import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from melm.plan import Stage, Unit
from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.keeper import ChildKeeper, Family, ParentKeeper, Report
from worker.engine.units import Opened
from worker.store.process import identity
from worker.store.records import Lease
from worker.store.settings import Settings


class NoMessages:
    def send(self, n_messages: int = 1) -> None:
        pass


@pytest.fixture
def quick(settings: Settings) -> Iterator[Engine]:
    store = open_engine(
        replace(
            settings,
            lease_seconds=0.4,
            renew_seconds=0.1,
            sweep_seconds=0.01,
            cancel_poll_seconds=0.02,
            kill_seconds=0.2,
        )
    )
    yield store
    store.close()


@pytest.fixture
def start_parent(tenant: str) -> Iterator[Callable[[Engine, Family], None]]:
    """Starts parents, which end with the test."""
    parents: list[ParentKeeper] = []

    def start(store: Engine, family: Family) -> None:
        parents.append(ParentKeeper(store, NoMessages(), family, tenant))
        parents[-1].start()

    yield start
    for parent in parents:
        parent.stop()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that works and does not listen."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def claimed(store: Engine, tenant: str, pid: int) -> Lease:
    store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    claim = store.units.next(identity(pid)).claim
    assert claim is not None
    return claim.lease


def report_as(family: Family, pid: int, lease: Lease | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: pid)
        family.report(0, 1, lease)


def stays_held(store: Engine, lease: Lease, seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        store.units.sweep(judge_leases=True)
        if not store.units.is_held(lease):
            return False
        time.sleep(0.02)
    return True


def test_reports_arrive_in_order() -> None:
    family = Family()
    lease = Lease(tenant="t", fit_id="f", unit="u", fence=1, process="here/1/1")
    for number in range(50):
        family.report(0, number, lease)
        family.report(0, number, None)
    expected = [Report(os.getpid(), 0, number, each) for number in range(50) for each in (lease, None)]
    assert family.wait_for_reports(1) == expected
    assert family.wait_for_reports(0) == []


def test_a_lease_that_nobody_keeps_is_lost(quick: Engine, tenant: str) -> None:
    assert not stays_held(quick, claimed(quick, tenant, os.getpid()), 1)


def test_a_child_hears_of_a_cancel(quick: Engine, tenant: str) -> None:
    family = Family()
    parent = ParentKeeper(quick, NoMessages(), family, tenant)
    parent.start()
    lease = claimed(quick, tenant, os.getpid())
    keeper = ChildKeeper(family, 0, quick.settings.unit_seconds)
    keeper.hold(lease)
    assert not keeper.should_stop()
    quick.fits.cancel(tenant, lease.fit_id)
    wait_until(keeper.should_stop, 2)
    assert not keeper.is_stopping()
    keeper.hold(claimed(quick, tenant + "x", os.getpid()))
    assert not keeper.should_stop()
    keeper.hold(None)
    parent.stop()


def test_a_word_that_comes_too_late_does_not_stop_the_next_unit() -> None:
    """However many units a child has had, and whatever its brothers lose."""
    family = Family(2)
    child, brother = (ChildKeeper(family, slot, 100) for slot in range(2))
    lease = Lease(tenant="t", fit_id="f", unit="u", fence=1, process="here/1/1")
    brother.hold(lease)
    (brothers,) = family.wait_for_reports(1)
    for _ in range(600):
        child.hold(lease)
        (first,) = family.wait_for_reports(1)
        child.hold(lease)
        family.wait_for_reports(1)
        family.tell_lost(first)
        assert not child.should_stop()
    family.tell_lost(brothers)
    assert brother.should_stop()
    assert not child.should_stop()


def test_a_child_is_told_to_stop() -> None:
    family = Family()
    keeper = ChildKeeper(family, 0, 100)
    assert not keeper.should_stop()
    family.stop()
    assert keeper.should_stop()
    assert keeper.is_stopping()


def test_a_child_knows_the_time_a_unit_may_take() -> None:
    keeper = ChildKeeper(Family(), 0, 0.05)
    keeper.hold(Lease(tenant="t", fit_id="f", unit="u", fence=1, process="here/1/1"))
    assert not keeper.is_out_of_time()
    wait_until(keeper.is_out_of_time, 1)
    assert keeper.should_stop()


def test_a_parent_keeps_its_childs_lease(
    quick: Engine,
    tenant: str,
    child: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    start_parent: Callable[[Engine, Family], None],
) -> None:
    family = Family()
    start_parent(quick, family)
    wait_until(lambda: tenant in quick.workers.health().workers)
    lease = claimed(quick, tenant, child.pid)
    report_as(family, child.pid, lease, monkeypatch)
    assert stays_held(quick, lease, 1)
    report_as(family, child.pid, None, monkeypatch)
    assert not stays_held(quick, lease, 2)
    assert child.poll() is None


def test_a_parent_kills_a_child_that_does_not_let_go(
    quick: Engine,
    tenant: str,
    child: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    start_parent: Callable[[Engine, Family], None],
) -> None:
    family = Family()
    start_parent(quick, family)
    lease = claimed(quick, tenant, child.pid)
    report_as(family, child.pid, lease, monkeypatch)
    time.sleep(0.3)
    assert child.poll() is None
    quick.fits.cancel(tenant, lease.fit_id)
    assert child.wait(3) == -signal.SIGKILL


def test_a_parent_gives_up_a_unit_that_takes_too_long(
    settings: Settings,
    tenant: str,
    child: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    start_parent: Callable[[Engine, Family], None],
) -> None:
    quick = open_engine(replace(settings, renew_seconds=0.1, kill_seconds=0.1, unit_seconds=0.2))
    family = Family()
    start_parent(quick, family)
    plan = claimed(quick, tenant, child.pid)
    stage = Opened(Stage("search", [Unit("a")]), [[("a", {})]])
    claim = quick.units.next(plan.process, plan, stage).claim
    assert claim is not None
    report_as(family, child.pid, claim.lease, monkeypatch)
    assert child.wait(3) == -signal.SIGKILL
    error = quick.units.first_error(tenant, plan.fit_id)
    assert error is not None
    assert error.type == "OutOfTime"
    following = quick.units.next("here/1/1").claim
    assert following is not None
    assert following.is_plan


def test_a_parent_ends_a_worker_that_no_longer_consumes(
    settings: Settings, tenant: str, monkeypatch: pytest.MonkeyPatch, server: RedisServer
) -> None:
    stalled = open_engine(replace(settings, renew_seconds=0.1, stalled_seconds=0.3))
    ended = threading.Event()
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.set() if (pid, number) == (os.getpid(), 15) else None)
    keeper = ParentKeeper(stalled, NoMessages(), Family(), tenant)
    keeper.start()
    assert not ended.wait(1)  # nothing waits
    stalled.fits.submit(tenant, submission(stored_dataset(stalled, tenant)))
    assert ended.wait(3)
    keeper.stop()
