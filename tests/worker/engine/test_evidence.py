"""A fit has its model before its evidence, and what happens to it in between."""

from __future__ import annotations

import json

import pytest

from melm.plan import Result
from tests.worker.bench import Bench, interrupted, locally
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine
from worker.store.errors import Gone
from worker.store.records import FitRecord, Status, SubmitOutcome


@pytest.fixture
def bench(store: Engine, tenant: str) -> Bench:
    return Bench(store, tenant)


def folds(bench: Bench, fit: FitRecord) -> object:
    """What the card says of the evidence."""
    return bench.store.models.card(bench.tenant, fit.model_id or "").get("folds")


def stopped_in_the_evidence(store: Engine, tenant: str, keep_best: bool = False) -> tuple[Bench, FitRecord]:
    """A fit that is canceled in the second of three folds."""

    def cancel(bench: Bench) -> None:
        assert bench.keeper.lease is not None
        store.fits.cancel(tenant, bench.keeper.lease.fit_id, keep_best=keep_best)

    bench = interrupted(store, tenant, "fold 1", cancel)
    return bench, bench.run(bench.submit(folds=3))


def test_the_model_is_there_before_its_evidence(store: Engine, tenant: str) -> None:
    seen: list[tuple[FitRecord, object, str]] = []

    def look(bench: Bench) -> None:
        fit = store.fits.get(tenant, store.fits.page(tenant).data[0].id)
        seen.append((fit, folds(bench, fit), store.models.get(tenant, fit.model_id or "").digest))

    bench = interrupted(store, tenant, "fold 0", look)
    fit = bench.run(bench.submit(folds=3))
    ((between, folds_then, digest_then),) = seen
    assert (between.status, between.phase, between.model_id) == (Status.RUNNING, "evidence", fit.model_id)
    assert folds_then is None
    assert (fit.status, fit.phase, folds(bench, fit)) == (Status.SUCCEEDED, None, 3)
    assert bench.projection(fit) == locally(fit)
    assert store.models.get(tenant, fit.model_id or "").digest != digest_then
    types = [event.type for event in store.fits.events(tenant, fit.id)]
    assert types.count("model") == 1
    assert types[-2:] == ["model", "succeeded"]


def test_without_evidence_model_and_end_come_together(bench: Bench) -> None:
    fit = bench.run(bench.submit())
    types = [event.type for event in bench.store.fits.events(bench.tenant, fit.id)]
    assert types[-2:] == ["model", "succeeded"]


def test_canceled_in_the_evidence_the_model_stays(store: Engine, tenant: str) -> None:
    bench, fit = stopped_in_the_evidence(store, tenant)
    assert fit.status is Status.CANCELED
    assert bench.projection(fit) == locally(fit)
    assert folds(bench, fit) is None


def test_keep_best_in_the_evidence_succeeds_with_what_there_is(store: Engine, tenant: str) -> None:
    bench, fit = stopped_in_the_evidence(store, tenant, keep_best=True)
    assert fit.status is Status.SUCCEEDED
    assert folds(bench, fit) == 1
    assert store.fits.submit(tenant, submission(stored_dataset(store, tenant), folds=3))[1] is SubmitOutcome.CREATED


def test_a_retry_goes_on_with_the_evidence(store: Engine, tenant: str) -> None:
    _, canceled = stopped_in_the_evidence(store, tenant)
    second = Bench(store, tenant)
    store.fits.retry(tenant, canceled.id)
    fit = second.run(canceled)
    assert (fit.status, fit.model_id, folds(second, fit)) == (Status.SUCCEEDED, canceled.model_id, 3)
    assert store.fits.submit(tenant, submission(stored_dataset(store, tenant), folds=3))[1] is SubmitOutcome.REUSED


def test_a_retry_without_the_model_begins_again(store: Engine, tenant: str) -> None:
    _, canceled = stopped_in_the_evidence(store, tenant)
    store.models.delete(tenant, canceled.model_id or "")
    second = Bench(store, tenant)
    store.fits.retry(tenant, canceled.id)
    fit = second.run(canceled)
    assert fit.status is Status.SUCCEEDED
    assert fit.model_id != canceled.model_id
    assert second.projection(fit) == locally(fit)


@pytest.mark.parametrize("at", ["fold 0", "fold 2"])
def test_a_model_that_is_deleted_does_not_come_back(store: Engine, tenant: str, at: str) -> None:
    def delete(bench: Bench) -> None:
        store.models.delete(tenant, store.fits.page(tenant).data[0].model_id or "")

    bench = interrupted(store, tenant, at, delete)
    fit = bench.run(bench.submit(folds=3))
    assert fit.status is Status.CANCELED
    with pytest.raises(Gone):
        store.models.get(tenant, fit.model_id or "")
    assert store.models.page(tenant).data == []


def test_a_failed_fold_leaves_the_evidence_incomplete(bench: Bench) -> None:
    fit = bench.run(bench.submit(folds=3, errors=["fold 1"]))
    assert (fit.status, folds(bench, fit)) == (Status.SUCCEEDED, 2)
    again = submission(stored_dataset(bench.store, bench.tenant), folds=3, errors=["fold 1"])
    assert bench.store.fits.submit(bench.tenant, again)[1] is SubmitOutcome.CREATED


def test_a_start_that_failed_is_remembered_over_a_retry(store: Engine, tenant: str) -> None:
    """Its error is forgotten then, but the model was made without it."""

    def cancel(bench: Bench) -> None:
        assert bench.keeper.lease is not None
        store.fits.cancel(tenant, bench.keeper.lease.fit_id)

    bench = interrupted(store, tenant, "fold 1", cancel)
    fit = bench.run(bench.submit(folds=3, errors=["search 1"]))
    store.fits.retry(tenant, fit.id)
    second = Bench(store, tenant)
    assert second.run(fit).status is Status.SUCCEEDED
    again = submission(stored_dataset(store, tenant), folds=3, errors=["search 1"])
    assert store.fits.submit(tenant, again)[1] is SubmitOutcome.CREATED


def test_progress_counts_all_stages_and_never_goes_back(store: Engine, tenant: str) -> None:
    shares: list[float] = []
    bench = Bench(store, tenant)

    def run(fit: FitRecord, data: object, unit: object, should_stop: object) -> Result:
        shares.append(store.fits.get(tenant, fit.id).share_done)
        return original(fit, data, unit, should_stop)  # type: ignore[arg-type]

    original = bench.library.run_unit
    bench.library.run_unit = run  # type: ignore[method-assign]
    fit = bench.run(bench.submit(folds=4))
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares) == 4 + 2 + 4
    assert shares[0] == 0
    assert shares[4 + 2] == pytest.approx(0.5)  # the model, by what the plan says
    assert (fit.share_done, fit.eta_seconds) == (1, None)


def test_the_preview_is_the_best_so_far_and_goes_with_the_end(store: Engine, tenant: str) -> None:
    seen: list[bytes | None] = []
    bests: list[float | None] = []

    def look(bench: Bench) -> None:
        fit = store.fits.page(tenant).data[0]
        seen.append(store.fits.preview(tenant, fit.id))
        bests.append(fit.best_divergence)

    for at in ("search 0", "search 3", "fold 0"):
        bench = interrupted(store, tenant, at, look)
        fit = bench.run(bench.submit(folds=2, force=True))
        assert store.fits.preview(tenant, fit.id) is None
    assert seen[0] is None
    assert [json.loads(preview) for preview in seen[1:] if preview] == bests[1:]
    assert None not in bests[1:]
