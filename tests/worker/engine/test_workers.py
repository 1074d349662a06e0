import time
from dataclasses import replace

from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.units import Released
from worker.store.settings import Settings


def test_a_worker_that_beats_is_alive_until_it_stops(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, renew_seconds=0.1))
    store.workers.beat(tenant, 2)
    assert tenant in store.workers.health().workers
    wait_until(lambda: tenant not in store.workers.health().workers)
    store.workers.beat(tenant, 2)
    store.workers.leave(tenant)
    assert tenant not in store.workers.health().workers
    store.close()


def test_fits_that_wait_without_any_work_begun_mean_standstill(
    tenant: str, settings: Settings, server: RedisServer
) -> None:
    store = open_engine(replace(settings, stalled_seconds=0.2))
    assert store.workers.health().moving
    fits = [store.fits.submit(tenant, submission(stored_dataset(store, tenant), seed=seed))[0] for seed in range(2)]
    health = store.workers.health()
    assert (health.queued_fits, health.active_fits, health.moving, health.claimed_at) == (2, 2, True, None)
    wait_until(lambda: not store.workers.health().moving)
    claim = store.units.next("here/1/1").claim
    assert claim is not None
    time.sleep(0.3)
    health = store.workers.health()
    assert (health.queued_fits, health.active_fits, health.moving) == (1, 2, True)  # one has a unit in hand
    assert health.claimed_at is not None
    store.units.settle(claim.lease, Released(dead=False))
    assert not store.workers.health().moving
    for fit in fits:
        store.fits.cancel(tenant, fit.id)
    assert store.workers.health().moving
    store.close()


def test_counters_add_up_over_tenants(store: Engine, tenant: str) -> None:
    def canceled() -> float:
        return store.workers.metrics().get("fits_total:canceled", 0.0)

    before = canceled()
    for name in (tenant, tenant + "x"):
        fit, _ = store.fits.submit(name, submission(stored_dataset(store, name)))
        store.fits.cancel(name, fit.id)
    assert canceled() == before + 2
