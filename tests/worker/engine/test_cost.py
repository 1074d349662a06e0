"""What things cost in round trips: as much as there is work, however many tenants there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.connection import AbstractConnection

from tests.worker.samples import stored_dataset, submission
from worker.engine import CeleryDispatcher, Engine, Reconciler
from worker.store.settings import Settings


class NoMessages:
    def send(self, tenant: str, fit_id: str, n_messages: int = 1) -> bool:
        return True


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
    store: Engine, tenant: str, settings: Settings, round_trips: Callable[[Callable[[], object]], int]
) -> None:
    dataset = stored_dataset(store, tenant)
    dispatcher = CeleryDispatcher(settings)

    def submit() -> None:
        """As the service does: it reads the dataset, and says whether a worker is alive."""
        asked = submission(store.datasets.get(tenant, dataset.id), force=True)
        fit, _ = store.fits.submit(tenant, asked)
        dispatcher.send(tenant, fit.id)
        store.workers.health()

    assert round_trips(submit) <= 4


def test_nothing_costs_more_with_more_tenants(
    store: Engine, tenant: str, round_trips: Callable[[Callable[[], object]], int]
) -> None:
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
