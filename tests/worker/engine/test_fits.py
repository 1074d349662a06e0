from dataclasses import replace
from typing import Any

import pytest

from tests.servers import RedisServer
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.scripts import script
from worker.engine.states import MOVES
from worker.engine.units import Ended, Published
from worker.store.errors import Conflict, Gone, IdempotencyMismatch, NotFound, QuotaExceeded
from worker.store.records import Idempotency, Status, SubmitOutcome
from worker.store.settings import Settings


def end(store: Engine, tenant: str, fit_id: str, status: Status) -> None:
    """Let the planning step end the fit."""
    claim = store.units.next("here/1/1").claim
    assert claim is not None
    assert claim.lease.fit_id == fit_id
    if status is Status.SUCCEEDED:
        model = store.models.new_record(claim.at, data=b"file", method="stand_in", fit_id=fit_id)
        store.units.settle(claim.lease, Published(model, {}, b"file", ends=True))
    else:
        store.units.settle(claim.lease, Ended(status))


def test_a_new_fit_is_queued(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    asked = submission(dataset, budget=5).model_copy(
        update={"name": "first", "metadata": {"k": "v"}, "validation": {"folds": 5}}
    )
    fit, outcome = store.fits.submit(tenant, asked)
    assert outcome is SubmitOutcome.CREATED
    assert fit == store.fits.get(tenant, fit.id)
    assert (fit.status, fit.is_active, fit.attempts, fit.starts_done, fit.n_starts) == (Status.QUEUED, True, 1, 0, 4)
    assert (fit.name, fit.metadata, fit.params, fit.validation) == ("first", {"k": "v"}, asked.params, {"folds": 5})
    assert (fit.dataset_hash, fit.started_at, fit.deadline, fit.error) == (dataset.content_hash, None, None, None)
    assert [event.type for event in store.fits.events(tenant, fit.id)] == ["queued"]


def test_the_dataset_must_be_there(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    with pytest.raises(NotFound):
        store.fits.submit(tenant, submission(dataset).model_copy(update={"dataset_id": "ds_none"}))
    store.datasets.delete(tenant, dataset.id)
    with pytest.raises(Gone):
        store.fits.submit(tenant, submission(dataset))


def test_an_equal_fit_that_succeeded_is_reused(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    first, _ = store.fits.submit(tenant, submission(dataset))
    second, outcome = store.fits.submit(tenant, submission(dataset))
    assert (outcome, second.id != first.id) == (SubmitOutcome.CREATED, True)  # the first has not ended yet
    end(store, tenant, first.id, Status.SUCCEEDED)
    reused, outcome = store.fits.submit(tenant, submission(dataset))
    assert (reused.id, outcome) == (first.id, SubmitOutcome.REUSED)
    for other in (submission(dataset, seed=1), submission(dataset, force=True)):
        assert store.fits.submit(tenant, other)[1] is SubmitOutcome.CREATED
    assert first.model_id is None
    assert reused.model_id is not None
    store.models.delete(tenant, reused.model_id)
    assert store.fits.submit(tenant, submission(dataset))[1] is SubmitOutcome.CREATED


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELED])
def test_a_fit_that_gave_nothing_is_not_reused(store: Engine, tenant: str, status: Status) -> None:
    dataset = stored_dataset(store, tenant)
    first, _ = store.fits.submit(tenant, submission(dataset))
    end(store, tenant, first.id, status)
    assert store.fits.submit(tenant, submission(dataset))[1] is SubmitOutcome.CREATED


def test_another_version_of_the_library_is_another_fit(store: Engine, tenant: str, settings: Settings) -> None:
    dataset = stored_dataset(store, tenant)
    first, _ = store.fits.submit(tenant, submission(dataset))
    end(store, tenant, first.id, Status.SUCCEEDED)
    assert Engine(settings, "99").fits.submit(tenant, submission(dataset))[1] is SubmitOutcome.CREATED


def test_the_same_idempotency_key_makes_one_fit(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    key = Idempotency(key="k", body_hash="h")
    first, _ = store.fits.submit(tenant, submission(dataset), idempotency=key)
    again, outcome = store.fits.submit(tenant, submission(dataset), idempotency=key)
    assert (again.id, outcome) == (first.id, SubmitOutcome.REPLAYED)
    with pytest.raises(IdempotencyMismatch):
        store.fits.submit(tenant, submission(dataset), idempotency=Idempotency(key="k", body_hash="x"))
    assert len(store.fits.page(tenant).data) == 1


@pytest.mark.parametrize("limit", ["max_active_fits", "max_queued_fits"])
def test_admission_ends_at_the_limit(tenant: str, settings: Settings, limit: str) -> None:
    limits: dict[str, Any] = {limit: 2}
    store = open_engine(replace(settings, **limits))
    dataset = stored_dataset(store, tenant)
    fits = [store.fits.submit(tenant, submission(dataset, seed=seed))[0] for seed in range(2)]
    with pytest.raises(QuotaExceeded) as refused:
        store.fits.submit(tenant, submission(dataset, seed=2))
    assert refused.value.retry_after_seconds
    store.fits.cancel(tenant, fits[0].id)
    store.fits.submit(tenant, submission(dataset, seed=2))
    store.close()


def test_cancel_ends_a_fit_once(store: Engine, tenant: str) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    canceled, changed = store.fits.cancel(tenant, fit.id)
    assert (canceled.status, changed) == (Status.CANCELED, True)
    assert canceled.ended_at is not None
    assert store.fits.cancel(tenant, fit.id) == (canceled, False)
    assert store.units.next("here/1/1").claim is None
    assert [event.type for event in store.fits.events(tenant, fit.id)] == ["queued", "canceled"]


def test_to_keep_the_best_of_nothing_is_to_cancel(store: Engine, tenant: str) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    assert store.fits.cancel(tenant, fit.id, keep_best=True)[0].status is Status.CANCELED


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELED])
def test_what_gave_nothing_can_be_retried(store: Engine, tenant: str, status: Status) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    end(store, tenant, fit.id, status)
    again = store.fits.retry(tenant, fit.id)
    assert (again.status, again.attempts, again.ended_at, again.error) == (Status.QUEUED, 2, None, None)
    claim = store.units.next("here/1/1").claim
    assert claim is not None
    assert claim.is_plan


def test_what_is_active_or_succeeded_cannot_be_retried(store: Engine, tenant: str) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    with pytest.raises(Conflict, match="queued"):
        store.fits.retry(tenant, fit.id)
    end(store, tenant, fit.id, Status.SUCCEEDED)
    with pytest.raises(Conflict, match="succeeded"):
        store.fits.retry(tenant, fit.id)


def test_a_fit_without_its_dataset_cannot_be_retried(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    fit, _ = store.fits.submit(tenant, submission(dataset))
    store.fits.cancel(tenant, fit.id)
    store.datasets.delete(tenant, dataset.id)
    with pytest.raises(Gone):
        store.fits.retry(tenant, fit.id)


def test_pages_by_status_and_name(store: Engine, tenant: str) -> None:
    dataset = stored_dataset(store, tenant)
    fits = [
        store.fits.submit(tenant, submission(dataset, seed=seed).model_copy(update={"name": f"name {seed % 2}"}))[0]
        for seed in range(5)
    ]
    store.fits.cancel(tenant, fits[0].id)
    newest_first = sorted((fit.id for fit in fits), reverse=True)
    assert [fit.id for fit in store.fits.page(tenant).data] == newest_first
    assert [fit.id for fit in store.fits.page(tenant, status=Status.CANCELED).data] == [fits[0].id]
    assert {fit.id for fit in store.fits.page(tenant, status=Status.QUEUED).data} == {fit.id for fit in fits[1:]}
    assert {fit.id for fit in store.fits.page(tenant, name="name 0").data} == {fits[0].id, fits[2].id, fits[4].id}
    assert {fit.id for fit in store.fits.page(tenant, name="name 0", status=Status.QUEUED).data} == {
        fits[2].id,
        fits[4].id,
    }
    first = store.fits.page(tenant, limit=3)
    second = store.fits.page(tenant, limit=3, cursor=first.next_cursor)
    assert [fit.id for fit in [*first.data, *second.data]] == newest_first
    assert second.next_cursor is None


def test_events_go_on_after_the_last_one_seen(store: Engine, tenant: str) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    store.fits.cancel(tenant, fit.id)
    first, second = store.fits.events(tenant, fit.id)
    assert store.fits.events(tenant, fit.id, after=first.id) == [second]
    assert store.fits.events(tenant, fit.id, limit=1) == [first]
    with pytest.raises(NotFound):
        store.fits.events(tenant, "fit_none")


def test_what_never_was_is_not_found(store: Engine, tenant: str) -> None:
    for call in (store.fits.get, store.fits.cancel, store.fits.retry):
        with pytest.raises(NotFound):
            call(tenant, "fit_none")


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", Status)
def test_scripts_make_only_the_moves_of_the_table(
    store: Engine, tenant: str, server: RedisServer, before: Status, after: Status
) -> None:
    fit, _ = store.fits.submit(tenant, submission(stored_dataset(store, tenant)))
    server.client.hset(f"melm:{{{tenant}}}:fit:{fit.id}:meta", "status", before)
    step = script("renew").split("-- Renew the lease")[0] + f"move('{after}') return get('status')"
    call = server.client.register_script(step)
    arguments = {"keys": [], "args": [f'{{"tenant": "{tenant}", "fit": "{fit.id}"}}']}
    if after in MOVES[before]:
        assert call(**arguments) == after.value.encode()  # type: ignore[arg-type]
    else:
        with pytest.raises(Exception, match="no move"):
            call(**arguments)  # type: ignore[arg-type]
