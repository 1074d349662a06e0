"""What things cost in round trips: as much as there is work, however many tenants there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.connection import AbstractConnection

from tests.worker.bench import Bench
from tests.worker.samples import stored_dataset, submission
from worker.engine import CeleryDispatcher, Engine, Reconciler
from worker.store import connection
from worker.store.records import Status
from worker.store.settings import Settings


class NoMessages:
    def send(self, n_messages: int = 1) -> None:
        pass


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Counts what a call sends to the server, once connections and scripts are there."""
    sent: list[None] = []
    send = AbstractConnection.send_packed_command

    def counted(self: AbstractConnection, *args: object, **kwargs: object) -> object:
        sent.append(None)
        return send(self, *args, **kwargs)  # type: ignore[no-untyped-call]

    def count(call: Callable[[], object]) -> int:
        call()
        with monkeypatch.context() as patch:
            patch.setattr(AbstractConnection, "send_packed_command", counted)
            sent.clear()
            call()
            return len(sent)

    return count


def test_a_submission_takes_four_round_trips(
    store: Engine,
    tenant: str,
    settings: Settings,
    round_trips: Callable[[Callable[[], object]], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = stored_dataset(store, tenant)
    dispatcher = CeleryDispatcher(settings)

    def submit() -> None:
        """As the service does: it reads the dataset, and says whether a worker is alive."""
        monkeypatch.setattr(store.connection, "_looked_at", float("-inf"))  # how full it is was last asked long ago
        asked = submission(store.datasets.get(tenant, dataset.id), force=True)
        store.fits.submit(tenant, asked)
        dispatcher.send()
        store.workers.health()

    assert round_trips(submit) <= 4


def test_a_fit_of_23_units_takes_40_round_trips(
    store: Engine, tenant: str, round_trips: Callable[[Callable[[], object]], int]
) -> None:
    """From its submission to its end, in a process that has never seen its data."""
    dataset = stored_dataset(store, tenant)

    def fit() -> None:
        asked = submission(dataset, n_starts=21, force=True)
        ended = Bench(store, tenant).run(store.fits.submit(tenant, asked)[0])
        assert (ended.status, ended.starts_done) == (Status.SUCCEEDED, 21)

    assert round_trips(fit) <= 40


def test_nothing_costs_more_with_more_tenants(
    store: Engine,
    tenant: str,
    round_trips: Callable[[Callable[[], object]], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "LOOK_SECONDS", float("inf"))  # so that no count depends on the time
    dataset = stored_dataset(store, tenant)
    reconciler = Reconciler(store, NoMessages())
    calls: list[Callable[[], object]] = [
        lambda: store.fits.submit(tenant, submission(dataset, force=True)),
        store.workers.health,
        store.workers.metrics,
        reconciler.sweep,
    ]
    before = [round_trips(call) for call in calls]
    for number in range(200):
        other = f"{tenant}-{number}"
        fit, _ = store.fits.submit(other, submission(stored_dataset(store, other)))
        store.fits.cancel(other, fit.id)
    assert [round_trips(call) for call in calls] == before
