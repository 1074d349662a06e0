import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.reconcile import Reconciler
from worker.store.process import identity
from worker.store.settings import Settings


class Messages:
    """A dispatcher that counts."""

    def __init__(self) -> None:
        self.n_sent = 0

    def send(self, n_messages: int = 1) -> None:
        self.n_sent += n_messages


@pytest.fixture
def quick(settings: Settings, server: RedisServer) -> Engine:
    return open_engine(replace(settings, lease_seconds=0.3, sweep_seconds=0.05))


def claimed(store: Engine, tenant: str, process: str) -> str:
    """A fit whose planning a process has; another process has nothing to do."""
    store.workers.beat("worker", 2)
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    assert store.units.next(process).claim is not None
    return fit.id


def test_a_lost_message_is_sent_again(quick: Engine, tenant: str) -> None:
    quick.fits.submit(tenant, submission(stored_dataset(quick, tenant)))
    messages = Messages()
    reconciler = Reconciler(quick, messages)
    assert reconciler.sweep() == 0  # nobody is there to be woken
    quick.workers.beat("worker", 1)
    wait_until(reconciler.sweep)
    assert messages.n_sent == 1


def test_a_dead_process_of_this_host_loses_its_unit_at_once(
    settings: Settings, tenant: str, server: RedisServer
) -> None:
    store = open_engine(replace(settings, lease_seconds=600))
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    fit_id = claimed(store, tenant, identity(process.pid))
    messages = Messages()
    reconciler = Reconciler(store, messages)
    assert reconciler.sweep() == 0
    process.kill()
    process.communicate()
    assert reconciler.sweep() > 0
    assert messages.n_sent > 0
    reconciler.sweep()
    assert store.fits.get(tenant, fit_id).recoveries == 1


def test_a_lease_of_another_host_has_to_end(quick: Engine, tenant: str) -> None:
    claimed(quick, tenant, "elsewhere/1/1")
    messages = Messages()
    reconciler = Reconciler(quick, messages)
    wait_until(reconciler.sweep)
    assert messages.n_sent > 0
    assert quick.units.leases() == []


def test_leases_are_not_judged_after_the_server_was_away(quick: Engine, tenant: str) -> None:
    claimed(quick, tenant, "elsewhere/1/1")
    reconciler = Reconciler(quick, Messages())
    reconciler.sweep()
    time.sleep(
        2 * 0.05 + quick.settings.store_timeout_seconds + 0.1
    )  # no sweep for so long is no touch with the server
    assert reconciler.sweep() == 0
    assert len(quick.units.leases()) == 1
    wait_until(reconciler.sweep)  # but a whole lease later they are


def test_several_judge_no_more_than_one(quick: Engine, tenant: str) -> None:
    fit_id = claimed(quick, tenant, "elsewhere/1/1")
    reconcilers = [Reconciler(quick, Messages()) for _ in range(4)]
    time.sleep(quick.settings.lease_seconds)
    assert sum(reconciler.sweep() > 0 for reconciler in reconcilers) == 1
    assert quick.fits.get(tenant, fit_id).recoveries == 1


def test_it_runs_in_the_background_and_outlives_the_servers_absence(
    quick: Engine, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick.fits.submit(tenant, submission(stored_dataset(quick, tenant)))
    quick.workers.beat("worker", 1)
    messages = Messages()
    reconciler = Reconciler(quick, messages)
    url = quick.connection.client
    monkeypatch.setattr(
        quick.connection, "client", open_engine(replace(quick.settings, redis_url="unix:///none")).connection.client
    )
    reconciler.start()
    time.sleep(0.2)
    monkeypatch.setattr(quick.connection, "client", url)
    wait_until(lambda: messages.n_sent > 0)
    reconciler.stop()
