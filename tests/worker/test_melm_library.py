"""The library in the worker's hands, without processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from melm.data.labeled import Labeled
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import file as model_file
from melm.plan import Result, Unit, run_plan
from tests.servers import wait_until
from tests.worker.bench import Hold, Queue
from tests.worker.samples import two_blobs
from worker.engine import Engine, open_engine
from worker.engine.reconcile import Reconciler
from worker.engine.runner import Runner
from worker.melm_library import MelmLibrary
from worker.store.records import FitRecord, FitSubmission, Status
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


PATH = METHODS["melm"].Parameters(regularization="path", ridge=1.0, max_iterations=4)
ROWS = two_blobs(120, 3)
N_INNER = 2  # folds of a path that are judged before something happens


class Killed(BaseException):
    """The end of a process."""


class Interrupted(MelmLibrary):
    """Something happens before a unit of the path's inner folds, once."""

    def __init__(self, do: Callable[[], None]) -> None:
        self.do, self.n_inner = do, 0

    def run(
        self, fit: FitRecord, data: Labeled, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> list[Result]:
        self.n_inner += any(unit.name.startswith("inner") for unit in units)
        if self.n_inner == N_INNER + 1:
            self.do()
        return super().run(fit, data, units, should_stop)


def submitted(store: Engine, tenant: str) -> FitRecord:
    dataset, _ = store.datasets.create(tenant, *ROWS)
    params = PATH.model_dump(mode="json")
    asked = FitSubmission(dataset_id=dataset.id, dataset_hash=dataset.content_hash, method="melm", params=params)
    return store.fits.submit(tenant, asked)[0]


def test_a_path_whose_process_is_killed_goes_on_to_the_same_bytes(settings: Settings, tenant: str) -> None:
    data = Labeled.check(*ROWS)
    local = run_plan(
        plan_fit("melm", data, PATH), lambda stage: [run_unit("melm", data, PATH, unit) for unit in stage.units]
    )

    def kill() -> None:
        raise Killed

    with closing(open_engine(replace(settings, lease_seconds=0.3, sweep_seconds=0.05))) as store:
        fit = submitted(store, tenant)
        with pytest.raises(Killed):
            Runner(store, Queue(), Interrupted(kill), Hold(), "elsewhere/1/1").take_turn()
        store.workers.beat("worker", 1)
        wait_until(Reconciler(store, Queue()).sweep)
        after = Interrupted(lambda: None)
        Runner(store, Queue(), after, Hold(), "here/2/1").take_turn()
        ended = store.fits.get(tenant, fit.id)
        assert (ended.status, ended.recoveries) == (Status.SUCCEEDED, 1), ended.error
        assert store.models.file(tenant, ended.model_id or "") == model_file.dump(local)
        assert 0 < after.n_inner < 5, "what was judged before is not judged again"


def test_a_path_that_is_canceled_with_keep_best_chooses_by_the_folds_that_were_judged(
    store: Engine, tenant: str
) -> None:
    fit = submitted(store, tenant)
    library = Interrupted(lambda: cancel())

    def cancel() -> None:
        store.fits.cancel(tenant, fit.id, keep_best=True)

    Runner(store, Queue(), library, Hold(), "here/1/1").take_turn()
    ended = store.fits.get(tenant, fit.id)
    assert ended.status is Status.SUCCEEDED, ended.error
    card: dict[str, Any] = store.models.card(tenant, ended.model_id or "")
    assert 0 < card["search"]["chosen"]["folds"] < 5
