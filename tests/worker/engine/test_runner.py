"""The runner: it works through fits, and through what happens to them in the middle."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from melm.plan import Fold, Unit
from tests.servers import RedisServer
from tests.worker.bench import Bench, interrupted, locally
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine, runner
from worker.engine.codec import decode
from worker.engine.runner import unit_arguments, unit_from_arguments
from worker.engine.units import Opened
from worker.store.records import Status
from worker.store.settings import Settings


@pytest.fixture
def bench(store: Engine, tenant: str) -> Bench:
    return Bench(store, tenant)


def test_a_fit_gives_what_the_library_gives(bench: Bench) -> None:
    fit = bench.run(bench.submit(n_starts=7))
    assert fit.status is Status.SUCCEEDED
    assert bench.projection(fit) == locally(fit)
    assert fit.starts_done == 7
    assert bench.keeper.lease is None
    card = bench.store.models.card(bench.tenant, fit.model_id or "")
    assert card["n_starts"] == 7


def test_others_are_woken_for_units_that_are_ready(bench: Bench) -> None:
    bench.store.workers.beat("worker", 4)
    bench.run(bench.submit(n_starts=3))
    assert bench.queue.n_messages == 2 + 1  # of each stage all units but the first, which the planner takes itself


def test_nobody_is_woken_where_nobody_is_idle(bench: Bench) -> None:
    bench.store.workers.beat("worker", 1)
    bench.run(bench.submit(n_starts=6))
    assert bench.queue.n_messages == 0


def test_a_large_stage_is_opened_in_pieces(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = []

    class Noted(Opened):
        def arguments(self) -> dict[str, Any]:
            pieces.append((self.stage.name, sum(map(len, self.leases)), self.n_done))
            return super().arguments()

    monkeypatch.setattr(runner, "MOST_AT_ONCE", 4)
    monkeypatch.setattr(runner, "Opened", Noted)
    fit = bench.run(bench.submit(n_starts=9))
    assert fit.status is Status.SUCCEEDED
    first = pieces[0][0]
    assert [piece for piece in pieces if piece[0] == first] == [(first, 4, 0), (first, 4, 4), (first, 1, 8)]
    assert bench.projection(fit) == locally(fit)


def order_of(trace: Path) -> list[str]:
    """The fits of the executions, one after the other."""
    return [path.name.split()[0] for path in sorted(trace.iterdir(), key=lambda path: int(path.name.split()[-1]))]


def test_fits_of_a_tenant_take_turns(settings: Settings, tenant: str, tmp_path: Path) -> None:
    with closing(open_engine(replace(settings, turn_seconds=0))) as store:
        bench = Bench(store, tenant)
        fits = [bench.submit(n_starts=n, trace=str(tmp_path)) for n in (4, 2)]
        bench.run(fits[0])
    order = order_of(tmp_path)
    assert len(order) == 4 + 2 + 2 + 2
    assert order[:4] == [fits[0].id, fits[1].id] * 2


def test_a_process_stays_with_a_fit_for_a_moment(settings: Settings, tenant: str, tmp_path: Path) -> None:
    """So that what was prepared is used again; other tenants come first nevertheless."""
    with closing(open_engine(replace(settings, turn_seconds=60))) as store:
        bench = Bench(store, tenant)
        fits = [bench.submit(n_starts=3, trace=str(tmp_path), force=True) for _ in range(2)]
        bench.run(fits[0])
    order = order_of(tmp_path)
    assert order == sorted(order)


def test_a_unit_that_fails_leaves_the_fit_to_the_others(bench: Bench) -> None:
    fit = bench.run(bench.submit(errors=["search 1"]))
    assert fit.status is Status.SUCCEEDED
    assert bench.store.models.card(bench.tenant, fit.model_id or "")["n_starts"] == 3
    again = submission(stored_dataset(bench.store, bench.tenant), errors=["search 1"])
    assert bench.store.fits.submit(bench.tenant, again)[0].id != fit.id  # not whole: never reused


def test_a_fit_of_which_all_units_fail_says_why(bench: Bench) -> None:
    fit = bench.run(bench.submit(n_starts=2, errors=["search 0", "search 1"]))
    assert fit.status is Status.FAILED
    assert fit.error is not None
    assert (fit.error.type, fit.error.message) == ("ArithmeticError", "search 0 does not converge")


def test_units_that_are_alike_make_one_lease(bench: Bench) -> None:
    fit = bench.run(bench.submit(n_starts=20, together=True))
    assert (fit.status, fit.starts_done) == (Status.SUCCEEDED, 20)
    assert bench.projection(fit) == locally(fit)
    fences = bench.store.connection.call("HGET", f"melm:{{{bench.tenant}}}:fit:{fit.id}:meta", "fence")
    assert int(fences) == 3 + 2 + 2  # planning, starts in leases of 16 at most, and the polish of two


def test_one_of_several_that_fails_leaves_the_others(bench: Bench) -> None:
    fit = bench.run(bench.submit(n_starts=6, together=True, errors=["search 3"]))
    assert fit.status is Status.SUCCEEDED
    assert bench.store.models.card(bench.tenant, fit.model_id or "")["n_starts"] == 5


def test_a_plan_that_breaks_fails_the_fit(bench: Bench) -> None:
    fit = bench.run(bench.submit(breaks=True))
    assert fit.status is Status.FAILED
    assert fit.error is not None
    assert fit.error.type == "ArithmeticError"


def test_a_model_that_cannot_be_stored_fails_the_fit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.library, "dump", lambda model: 1 / 0)
    fit = bench.run(bench.submit())
    assert fit.status is Status.FAILED
    assert fit.error is not None
    assert fit.error.type == "ZeroDivisionError"


def test_a_damaged_dataset_fails_the_fit(bench: Bench, server: RedisServer) -> None:
    fit = bench.submit()
    server.client.hdel(f"melm:{{{bench.tenant}}}:dataset:{fit.dataset_id}:blocks", "0")
    fit = bench.run(fit)
    assert fit.status is Status.FAILED
    assert fit.error is not None
    assert fit.error.type == "Damaged"
    assert bench.store.units.leases() == []


def test_a_unit_out_of_time_is_given_up(bench: Bench) -> None:
    fit = bench.submit(n_starts=1, seconds=0.01)
    bench.keeper.out_of_time = True
    fit = bench.run(fit)
    assert fit.error is not None
    assert (fit.status, fit.error.type) == (Status.FAILED, "OutOfTime")


def test_a_process_that_stops_gives_its_unit_back(bench: Bench) -> None:
    fit = bench.submit(n_starts=1, seconds=0.01)
    bench.keeper.stopping = True
    bench.runner.take_turn()
    assert bench.store.units.leases() == []
    bench.keeper.stopping = False
    fit = bench.run(fit)
    assert (fit.status, fit.recoveries) == (Status.SUCCEEDED, 0)


def test_a_long_unit_makes_room_and_goes_on_where_it_was(settings: Settings, tenant: str, tmp_path: Path) -> None:
    """In a slice in which it may be stopped, one unit of another tenant waits for a slice, and not for all of it."""
    with closing(open_engine(replace(settings, slice_seconds=0))) as store:
        bench, other = Bench(store, tenant), Bench(store, f"{tenant}-other")
        long = bench.submit(n_starts=1, seconds=0.3, resumable=True, trace=str(tmp_path))
        short = other.submit(n_starts=2, trace=str(tmp_path))
        ended = bench.run(long)
        assert (ended.status, ended.recoveries) == (Status.SUCCEEDED, 0)
        assert bench.projection(ended) == locally(long)
        order = order_of(tmp_path)
        assert order.index(short.id) == 1
        assert order[:5].count(short.id) == 2
        assert order.count(long.id) > 4  # more than a unit may take its process down
        (done, *_) = [event.data for event in store.fits.events(tenant, long.id) if event.type == "start_done"]
        assert done["seconds"] >= 0.3


def test_a_unit_that_is_given_back_goes_on_where_it_was(store: Engine, tenant: str) -> None:
    bench = Bench(store, tenant)
    fit = bench.submit(n_starts=1, seconds=0.1, resumable=True)
    asked = count()
    bench.keeper.should_stop = lambda: next(asked) > 3  # type: ignore[method-assign]
    bench.keeper.is_stopping = lambda: next(asked) > 3  # type: ignore[method-assign]
    bench.runner.take_turn()
    (stored,) = store.connection.call("HVALS", f"melm:{{{tenant}}}:fit:{fit.id}:units")
    assert decode(stored)["arguments"]["seconds"] > 0
    assert store.units.leases() == []
    assert Bench(store, tenant).run(fit).status is Status.SUCCEEDED


def test_a_cancel_in_the_middle_ends_it(store: Engine, tenant: str) -> None:
    def cancel(bench: Bench) -> None:
        assert bench.keeper.lease is not None
        store.fits.cancel(tenant, bench.keeper.lease.fit_id)

    bench = interrupted(store, tenant, "search 2", cancel)
    fit = bench.run(bench.submit())
    assert (fit.status, fit.model_id) == (Status.CANCELED, None)


def test_keep_best_in_the_middle_gives_the_best_so_far(store: Engine, tenant: str) -> None:
    def keep_best(bench: Bench) -> None:
        assert bench.keeper.lease is not None
        store.fits.cancel(tenant, bench.keeper.lease.fit_id, keep_best=True)

    bench = interrupted(store, tenant, "search 2", keep_best)
    fit = bench.run(bench.submit(n_starts=8))
    assert fit.status is Status.SUCCEEDED
    assert store.models.card(tenant, fit.model_id or "")["n_starts"] == 2
    assert store.fits.submit(tenant, submission(stored_dataset(store, tenant), n_starts=8))[0].id != fit.id


def test_a_retry_goes_on_from_what_is_done(store: Engine, tenant: str, tmp_path: Path) -> None:
    def cancel(bench: Bench) -> None:
        assert bench.keeper.lease is not None
        store.fits.cancel(tenant, bench.keeper.lease.fit_id)

    first = interrupted(store, tenant, "polish 0", cancel)
    first.run(fit := first.submit(n_starts=2, trace=str(tmp_path)))
    assert store.fits.get(tenant, fit.id).status is Status.CANCELED
    second = Bench(store, tenant)
    store.fits.retry(tenant, fit.id)
    again = second.run(fit)
    assert again.status is Status.SUCCEEDED
    names = sorted(path.name.split(" ", 1)[1].rsplit(" ", 2)[0] for path in tmp_path.iterdir())
    assert [name for name in names if name.startswith("search")] == ["search 0", "search 1"]
    assert second.projection(again) == locally(fit)


def test_a_unit_comes_back_from_the_store_as_it_was() -> None:
    unit = Unit("u", {"a": [1.5]}, (Fold(1, 5, 7), Fold(0, 3, 8)), start=2)
    assert unit_from_arguments("u", unit_arguments(unit)) == unit
