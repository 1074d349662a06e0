"""The library in the worker's hands, without processes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from melm.data.labeled import Labeled
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import file as model_file
from melm.plan import run_plan
from tests.worker.bench import Hold, Queue
from tests.worker.samples import two_blobs
from worker.engine import open_engine
from worker.engine.runner import Runner
from worker.melm_library import MelmLibrary
from worker.store.records import FitSubmission, Status
from worker.store.settings import Settings


@pytest.mark.parametrize("regularization", [None, "path"])
def test_a_fit_that_is_paused_after_every_evaluation_is_the_librarys_own(
    settings: Settings, tenant: str, regularization: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("melm.search.path.SAMPLE_ROWS", 200)  # so that a path has its polish on all rows
    monkeypatch.setattr("melm.search.regularization.SAMPLE_ROWS", 200)
    X, y = two_blobs(600, 3)
    melm = METHODS["melm"]
    parameters = melm.Parameters(n_starts=2, seed=1, regularization=regularization)
    data = Labeled.check(X, y)
    local = run_plan(
        plan_fit("melm", data, parameters),
        lambda stage: [run_unit("melm", data, parameters, unit) for unit in stage.units],
    )
    with closing(open_engine(replace(settings, slice_seconds=0))) as store:
        dataset, _ = store.datasets.create(tenant, X, y)
        asked = FitSubmission(
            dataset_id=dataset.id,
            dataset_hash=dataset.content_hash,
            method="melm",
            params=parameters.model_dump(mode="json"),
        )
        fit, _ = store.fits.submit(tenant, asked)
        Runner(store, Queue(), MelmLibrary(), Hold(), "here/1/1").take_turn()
        fit = store.fits.get(tenant, fit.id)
        assert fit.status is Status.SUCCEEDED, fit.error
        assert store.models.file(tenant, fit.model_id or "") == model_file.dump(local)
        n_leases = int(store.connection.call("HGET", f"melm:{{{tenant}}}:fit:{fit.id}:meta", "fence"))
        events = store.fits.events(tenant, fit.id, limit=1000)
    assert n_leases > 10 + len([event for event in events if event.type == "start_done"])
