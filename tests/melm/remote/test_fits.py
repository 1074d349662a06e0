"""Fits on a real service."""

from __future__ import annotations

import pytest

from melm.remote import Client, Conflict, Dataset, FitCanceled, Invalid, NotFound
from tests.servers import wait_until


def test_a_fit_from_submission_to_model(client: Client, dataset: Dataset) -> None:
    fit = client.fits.submit(
        dataset,
        params={"regularization": None, "n_starts": 3},
        validation={"folds": 2},
        name="mine",
        metadata={"for": "tests"},
        force=True,
    )
    assert fit.record.is_active
    model = fit.wait()
    assert fit.status == "succeeded"
    assert fit.record.progress.starts_done == fit.record.progress.n_starts == 3
    assert fit.record.metadata == {"for": "tests"}
    assert model.record.fit_id == fit.id
    assert fit.model.id == model.id
    assert model.describe()["card"]["validation"]["folds"] == 2
    kinds = [event.type for event in fit.events()]
    assert (kinds[0], kinds[-1]) == ("queued", "succeeded")
    assert kinds.count("best") >= 1
    assert fit.id in [other.id for other in client.fits.list(name="mine", status="succeeded")]


def test_an_equal_fit_is_answered_at_once(client: Client, dataset: Dataset) -> None:
    first = client.fits.submit(dataset, params={"regularization": None, "n_starts": 2}, validation=None)
    first.wait()
    again = client.fits.submit(dataset.id, params={"regularization": None, "n_starts": 2}, validation=None)
    assert again.record.reused
    assert again.id == first.id


def test_events_can_be_taken_up_where_they_were_left(client: Client, dataset: Dataset) -> None:
    fit = client.fits.submit(dataset, params={"regularization": None, "n_starts": 2}, validation=None)
    fit.wait()
    events = list(fit.events())
    assert list(fit.events(after=events[1].id)) == events[2:]


def test_another_client_attaches_cancels_and_retries(client: Client, long_dataset: Dataset) -> None:
    fit = client.fits.submit(
        long_dataset, params={"regularization": None, "n_starts": 200, "seed": 1}, validation=None, force=True
    )
    same = client.fits.attach(fit.id)
    wait_until(lambda: same.refresh().status == "running")
    same.cancel()
    with pytest.raises(FitCanceled):
        fit.wait()
    with pytest.raises(FitCanceled):
        _ = fit.model
    assert fit.retry().record.is_active
    assert fit.retry().record.is_active, "a retry whose answer was lost may be sent again"
    fit.cancel()
    wait_until(lambda: fit.refresh().status == "canceled")


def test_keeping_the_best_gives_a_model(client: Client, long_dataset: Dataset) -> None:
    fit = client.fits.submit(
        long_dataset, params={"regularization": None, "n_starts": 200, "seed": 2}, validation=None, force=True
    )
    wait_until(lambda: fit.refresh().record.progress.starts_done > 0)
    model = fit.cancel(keep_best=True).wait()
    assert fit.status == "succeeded"
    assert model.describe()["projection"]


def test_what_is_wrong_with_a_fit_is_said_at_once(client: Client, dataset: Dataset) -> None:
    with pytest.raises(Invalid) as caught:
        client.fits.submit(dataset, params={"n_components": 9, "n_starts": 10**9})
    assert {error.pointer for error in caught.value.errors} == {"/params/n_components", "/params/n_starts"}
    with pytest.raises(NotFound):
        client.fits.attach("fit_00000000000000000000000000")
    finished = client.fits.submit(dataset, params={"regularization": None, "n_starts": 2}, validation=None)
    finished.wait()
    with pytest.raises(Conflict):
        finished.retry()
