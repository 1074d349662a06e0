"""Who is served: of the tenants the one that was served longest ago, and of its fits likewise. By counts of leases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melm.plan import Stage, Unit
from tests.servers import RedisServer
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.units import Done, Opened, Outcome, UnitReport
from worker.store.records import Lease
from worker.store.settings import Settings

N_UNITS = 6


@pytest.fixture
def wide(settings: Settings) -> Iterator[Engine]:
    store = open_engine(replace(settings, window=100))
    yield store
    store.close()


class Processes:
    """Processes of workers that take units in turn; each unit ends when its process is asked to go on."""

    def __init__(self, store: Engine, n_processes: int) -> None:
        self._store = store
        self._held: dict[str, Lease | None] = {f"here/{number}/1": None for number in range(n_processes)}
        self._turn = 0
        self.served: list[Lease] = []

    def step(self) -> Lease | None:
        """The next process hands in its unit, and takes another."""
        process = list(self._held)[self._turn % len(self._held)]
        self._turn += 1
        lease = self._held[process]
        answer = self._store.units.next(process, lease, None if lease is None else outcome_of(lease))
        self._held[process] = None if answer.claim is None else answer.claim.lease
        if answer.claim is not None:
            self.served.append(answer.claim.lease)
        return self._held[process]


def outcome_of(lease: Lease) -> Outcome:
    if lease.unit == "@plan":
        units = [Unit(f"unit {number}") for number in range(N_UNITS)]
        return Opened(Stage("search", units), [[(unit.name, {})] for unit in units])
    return Done([UnitReport(lease.unit, {})])


def submit(store: Engine, tenant: str, n_fits: int = 1) -> list[str]:
    dataset = stored_dataset(store, tenant)
    return sorted(store.fits.submit(tenant, submission(dataset, force=True))[0].id for _ in range(n_fits))


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_a_fit_waits_for_one_unit_of_another_tenant_per_process(wide: Engine, tenant: str, n_processes: int) -> None:
    """However many fits that one has: 0.1 ran all 300 of them first."""
    submit(wide, "many", 50)
    processes = Processes(wide, n_processes)
    for _ in range(20):
        processes.step()
    (fit_id,) = submit(wide, tenant)
    processes.served.clear()
    own = [0] * 4  # how often the other was served before each of the units here
    for index in range(len(own)):
        while processes.step() is None or processes.served[-1].fit_id != fit_id:
            own[index] += 1
    assert max(own) <= n_processes


def test_fits_of_a_tenant_are_served_in_turn(wide: Engine, tenant: str) -> None:
    fits = submit(wide, tenant, 3)
    processes = Processes(wide, 1)
    for _ in range(12):
        processes.step()
    assert [lease.fit_id for lease in processes.served] == fits * 4


def test_nothing_is_preempted(wide: Engine, tenant: str) -> None:
    submit(wide, "long")
    processes = Processes(wide, 1)
    processes.step()
    lease = processes.step()
    assert lease is not None
    submit(wide, tenant, 5)
    assert wide.units.is_held(lease)


def test_staying_with_a_fit_holds_up_no_other_tenant(wide: Engine, tenant: str) -> None:
    first, second = submit(wide, tenant, 2)
    lease: Lease | None = None
    served = []
    for number in range(8):
        if number == 4:
            (other,) = submit(wide, "other")
        stay = Lease(tenant=tenant, fit_id=first, unit="", fence=0, process="here/1/1")
        answer = wide.units.next("here/1/1", lease, None if lease is None else outcome_of(lease), stay=stay)
        assert answer.claim is not None
        lease = answer.claim.lease
        served.append(lease.fit_id)
    assert served == [first] * 4 + [other, first] * 2
    assert second not in served


@given(data=st.data())
def test_whatever_comes_when_a_waiting_tenant_is_passed_over_once_by_each_other(
    server: RedisServer, data: st.DataObject
) -> None:
    """While a tenant has a unit to lease, each other tenant is served at most once before it."""
    server.client.flushdb()
    store = open_engine(Settings(redis_url=server.url, window=100))
    processes = Processes(store, data.draw(st.integers(1, 3)))
    tenants = ["a", "b", "c"]
    waiting: dict[str, list[str]] = {}  # tenants with a unit to lease, and who was served since
    for _ in range(data.draw(st.integers(1, 40))):
        if data.draw(st.booleans()):
            submit(store, data.draw(st.sampled_from(tenants)))
        elif (lease := processes.step()) is not None:
            for name, others in waiting.items():
                if name != lease.tenant:
                    others.append(lease.tenant)
                    assert others.count(lease.tenant) == 1
            waiting.pop(lease.tenant, None)
        ready = [name for name in tenants if server.client.zscore("melm:turns", name) is not None]
        waiting = {name: waiting.get(name, []) for name in ready}
    store.close()
