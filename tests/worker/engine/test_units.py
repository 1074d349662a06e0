"""One script, `next`: what came of a unit is stored once, and who is next gets its turn."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

from melm.plan import Stage, Unit
from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.units import Assignment, Claim, Done, Ended, Opened, Outcome, Published, Released, UnitReport
from worker.store.records import FitError, Lease, Status
from worker.store.settings import Settings

HERE, THERE, THIRD = "here/1/1", "there/2/2", "third/3/3"
BROKEN = FitError(type="E", message="m")


def new_fit(store: Engine, tenant: str, *, budget: float | None = None) -> str:
    return store.fits.submit(tenant, submission(stored_dataset(store, tenant), budget=budget, force=True))[0].id


def held(answer: Assignment) -> Claim:
    assert answer.claim is not None
    return answer.claim


def taken(store: Engine, process: str = HERE) -> Claim:
    return held(store.units.next(process))


def stage(names: Sequence[str]) -> Opened:
    """A stage, each of its units in a lease of its own."""
    return Opened(
        Stage("search", [Unit(name) for name in names], 0.2, 0.6), [[(name, {"name": name})] for name in names]
    )


def done(lease: Lease, **what: object) -> Done:
    return Done([UnitReport(lease.unit, what or {})])


def opened(store: Engine, tenant: str, names: Sequence[str], *, budget: float | None = None) -> Claim:
    """A fit whose first stage was just planned by a process here, which has the first unit."""
    new_fit(store, tenant, budget=budget)
    return held(store.units.next(HERE, taken(store).lease, stage(names)))


def after(store: Engine, claim: Claim, outcome: Outcome | None = None) -> Claim:
    """What a process gets when its unit is done."""
    return held(store.units.next(claim.lease.process, claim.lease, outcome or done(claim.lease)))


def published(store: Engine, ends: bool = True) -> Published:
    return Published(store.models.new_record(store.connection.now(), data=b"", method="stand_in"), {}, b"", ends)


def types(store: Engine, lease: Lease) -> list[str]:
    return [event.type for event in store.fits.events(lease.tenant, lease.fit_id)]


def test_the_first_unit_is_to_plan(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    claim = taken(store)
    assert (claim.is_plan, claim.lease.fit_id, claim.model_id, claim.is_cut) == (True, fit_id, None, False)
    fit = store.fits.get(tenant, fit_id)
    assert (fit.status, fit.started_at) == (Status.RUNNING, claim.at)
    assert types(store, claim.lease) == ["queued", "started"]


def test_a_unit_has_one_owner_and_a_process_one_unit(store: Engine, tenant: str) -> None:
    new_fit(store, tenant)
    first = taken(store)
    assert store.units.next(THERE).claim is None
    again = taken(store)
    assert again == replace(first, at=again.at)  # the answer was lost
    assert store.units.leases() == [first.lease]


def test_units_are_leased_in_order_with_their_arguments(store: Engine, tenant: str) -> None:
    claim = opened(store, tenant, ["a", "b", "c"])
    assert claim.units == {"a": {"name": "a"}}
    assert store.fits.get(tenant, claim.lease.fit_id).stage == "search"
    assert list(taken(store, THERE).units) == ["b"]


def test_several_short_units_make_one_lease(store: Engine, tenant: str) -> None:
    new_fit(store, tenant)
    together = Opened(
        Stage("s", [Unit(name) for name in "abc"], 0, 0.9), [[("a", {"x": 1}), ("b", {"x": 2})], [("c", {"x": 3})]]
    )
    claim = held(store.units.next(HERE, taken(store).lease, together))
    assert claim.units == {"a": {"x": 1}, "b": {"x": 2}}
    reports = [UnitReport("a", {"y": 1}, start=0, divergence=2.0), UnitReport("b", None, BROKEN, start=1)]
    assert list(after(store, claim, Done(reports)).units) == ["c"]
    assert store.units.results(tenant, claim.lease.fit_id) == {"a": {"y": 1}, "b": None}
    fit = store.fits.get(tenant, claim.lease.fit_id)
    assert fit.starts_done == 2
    assert fit.share_done == pytest.approx(0.6)


def test_no_more_units_than_the_window_are_leased(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b", "c", "d"])  # window of 2
    taken(store, THERE)
    assert store.units.next(THIRD).claim is None
    assert list(after(store, first).units) == ["c"]


def test_idle_processes_are_woken_for_what_is_ready(store: Engine, tenant: str) -> None:
    store.workers.beat("worker", 3)
    new_fit(store, tenant)
    plan = taken(store)
    answer = store.units.next(HERE, plan.lease, stage(["a", "b", "c", "d", "e"]))
    assert answer.n_messages == 2  # three processes, one of which has a unit
    assert store.units.sweep(judge_leases=True) == 2  # as if the messages had been lost
    taken(store, THERE)
    assert store.units.sweep(judge_leases=False) == 0  # the window is full


def test_whoever_ends_the_stage_plans_the_next(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b"])
    other = taken(store, THERE)
    assert store.units.next(HERE, first.lease, done(first.lease, V=np.ones(2))).claim is None
    following = after(store, other, Done([UnitReport("b", None, BROKEN)]))
    assert following.is_plan
    results = store.units.results(tenant, first.lease.fit_id)
    assert results.keys() == {"a", "b"}
    assert results["a"] is not None
    assert np.array_equal(results["a"]["V"], np.ones(2))
    assert results["b"] is None
    assert store.units.first_error(tenant, first.lease.fit_id) == BROKEN


def test_starts_are_progress(store: Engine, tenant: str) -> None:
    claim = opened(store, tenant, ["a", "b", "c"])
    fit_id = claim.lease.fit_id
    for start, divergence in enumerate([1.0000000000000002, 0.5, 2.5]):
        report = UnitReport(claim.lease.unit, {}, start=start, divergence=divergence, seconds=0.2)
        claim = after(store, claim, Done([report]))
        fit = store.fits.get(tenant, fit_id)
        assert fit.best_divergence == (1.0000000000000002 if start < 2 else 2.5)
        assert fit.share_done == pytest.approx(0.2 + 0.4 * (start + 1) / 3)
    assert fit.starts_done == 3
    assert types(store, claim.lease) == ["queued", "started", "start_done", "best", "start_done", "start_done", "best"]


def test_a_late_writer_is_refused(store: Engine, tenant: str) -> None:
    late = opened(store, tenant, ["a", "b"]).lease
    store.units.settle(late, Released(dead=True))
    current = taken(store, THERE)
    assert (current.lease.unit, current.lease.fence > late.fence) == ("a", True)
    assert store.units.settle(late, done(late, who="late")) == 0
    assert not store.units.renew(late)
    assert not store.units.is_held(late)
    after(store, current, done(current.lease, who="current"))
    store.units.settle(late, done(late, who="late"))
    assert store.units.results(tenant, late.fit_id) == {"a": {"who": "current"}}


def test_an_answer_that_was_lost_can_be_asked_for_again(store: Engine, tenant: str) -> None:
    new_fit(store, tenant)
    plan = taken(store)
    first = after(store, plan, stage(["a", "b", "c"]))
    assert after(store, plan, stage(["a", "b", "c"])).lease == first.lease
    outcome = Done([UnitReport("a", {}, start=0, divergence=1.0)])
    second = after(store, first, outcome)
    assert after(store, first, outcome).lease == second.lease
    assert types(store, plan.lease).count("start_done") == 1
    assert store.fits.get(tenant, plan.lease.fit_id).share_done == pytest.approx(0.2 + 0.4 / 3)


def test_a_stage_is_opened_by_its_planner_only(store: Engine, tenant: str) -> None:
    new_fit(store, tenant)
    plan = taken(store)
    store.units.settle(plan.lease, Released(dead=True))
    again = taken(store, THERE)
    assert again.is_plan
    for outcome in (stage(["a"]), published(store), Ended(Status.FAILED)):
        store.units.settle(plan.lease, outcome)
    fit = store.fits.get(tenant, plan.lease.fit_id)
    assert (fit.status, fit.stage, fit.model_id) == (Status.RUNNING, None, None)


def test_a_dead_process_uses_an_attempt_and_one_that_stops_does_not(store: Engine, tenant: str) -> None:
    store.workers.beat("worker", 1)
    claim = opened(store, tenant, ["a"])
    for _ in range(5):
        assert store.units.settle(claim.lease, Released(dead=False)) == 1
        claim = taken(store)
    assert store.fits.get(tenant, claim.lease.fit_id).recoveries == 0
    for _ in range(2):
        assert store.units.settle(claim.lease, Released(dead=True)) == 1
        claim = taken(store)
        assert claim.lease.unit == "a"
    store.units.settle(claim.lease, Released(dead=True))
    assert taken(store).is_plan  # given up: the plan goes on without it
    assert store.units.results(tenant, claim.lease.fit_id) == {"a": None}
    error = store.units.first_error(tenant, claim.lease.fit_id)
    assert error is not None
    assert (error.type, "3 times" in error.message) == ("WorkerLost", True)
    assert store.fits.get(tenant, claim.lease.fit_id).recoveries == 3
    assert types(store, claim.lease).count("recovered") == 3


def test_a_plan_that_takes_its_process_down_fails_the_fit(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    for _ in range(3):
        store.units.settle(taken(store).lease, Released(dead=True))
    assert store.units.next(HERE).claim is None
    fit = store.fits.get(tenant, fit_id)
    assert (fit.status, fit.error and fit.error.type) == (Status.FAILED, "WorkerLost")


def test_a_parent_gives_a_unit_up_for_its_child(store: Engine, tenant: str) -> None:
    lease = opened(store, tenant, ["a"]).lease
    store.units.give_up(lease, FitError(type="OutOfTime", message="too long"))
    assert store.units.results(tenant, lease.fit_id) == {"a": None}
    assert taken(store, THERE).is_plan


def test_a_plan_that_is_given_up_fails_the_fit(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    store.units.give_up(taken(store).lease, FitError(type="OutOfTime", message="too long"))
    fit = store.fits.get(tenant, fit_id)
    assert (fit.status, fit.error and fit.error.type) == (Status.FAILED, "OutOfTime")


def test_cancel_takes_units_away(store: Engine, tenant: str) -> None:
    lease = opened(store, tenant, ["a", "b"]).lease
    assert store.units.is_held(lease)
    store.fits.cancel(tenant, lease.fit_id)
    assert not store.units.is_held(lease)
    assert store.units.next(HERE, lease, done(lease)).claim is None
    assert store.units.results(tenant, lease.fit_id) == {}
    assert store.units.leases() == []


def test_keep_best_plans_with_what_there_is(store: Engine, tenant: str) -> None:
    second = after(store, opened(store, tenant, ["a", "b", "c"]))
    fit, changed = store.fits.cancel(tenant, second.lease.fit_id, keep_best=True)
    assert (fit.status, fit.cancel, changed) == (Status.RUNNING, "keep_best", True)
    assert not store.units.is_held(second.lease)
    plan = taken(store, THERE)
    assert (plan.is_plan, plan.is_cut) == (True, True)
    model = published(store)
    store.units.settle(plan.lease, model)
    assert store.fits.get(tenant, plan.lease.fit_id).model_id == model.model.id


def test_a_stage_that_is_opened_after_a_cut_is_not(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a"])
    plan = after(store, first)
    store.fits.cancel(tenant, first.lease.fit_id, keep_best=True)
    again = after(store, plan, stage(["b"]))
    assert (again.is_plan, again.is_cut) == (True, True)


def test_a_retry_keeps_results_and_forgets_errors(store: Engine, tenant: str) -> None:
    second = after(store, opened(store, tenant, ["a", "b"]))
    after(store, second, Done([UnitReport("b", None, BROKEN)]))
    store.fits.cancel(tenant, second.lease.fit_id)
    store.fits.retry(tenant, second.lease.fit_id)
    assert taken(store).is_plan
    assert store.units.results(tenant, second.lease.fit_id) == {"a": {}}


def test_out_of_time_is_like_keep_best(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b", "c"], budget=0.5)
    deadline = store.fits.get(tenant, first.lease.fit_id).deadline
    assert deadline is not None
    wait_until(lambda: store.connection.now() >= deadline)
    following = after(store, first)
    assert (following.is_plan, following.is_cut) == (True, True)
    assert store.fits.get(tenant, first.lease.fit_id).cancel == "out_of_time"


def test_out_of_time_is_noticed_when_nobody_works(store: Engine, tenant: str) -> None:
    store.workers.beat("worker", 1)
    lease = opened(store, tenant, ["a", "b", "c"], budget=0.5).lease

    def swept() -> bool:
        return store.units.sweep(judge_leases=False) == 1

    wait_until(swept)
    assert not store.units.is_held(lease)
    assert taken(store, THERE).is_plan


def test_only_a_whole_fit_may_be_reused(store: Engine, tenant: str, server: RedisServer) -> None:
    plan = after(store, opened(store, tenant, ["a"]), Done([UnitReport("a", None, BROKEN)]))
    model = published(store)
    for _ in range(2):  # the answer was lost
        store.units.settle(plan.lease, model)
    assert server.client.hlen(f"melm:{{{tenant}}}:fits:equal") == 0
    assert store.models.page(tenant).data == [model.model]


def test_overdue_leases_are_found(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, lease_seconds=0.05, sweep_seconds=0.01))
    store.workers.beat("worker", 2)
    lease = opened(store, tenant, ["a"]).lease
    assert store.units.sweep(judge_leases=False) == 0
    assert store.units.is_held(lease)
    wait_until(lambda: store.units.sweep(judge_leases=True) > 0)
    assert not store.units.is_held(lease)
    assert store.fits.get(tenant, lease.fit_id).recoveries == 1
    assert taken(store, THERE).lease.unit == "a"
    store.close()


def test_a_renewed_lease_is_not_overdue(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, lease_seconds=0.3, sweep_seconds=0.01))
    lease = opened(store, tenant, ["a", "b"]).lease
    ends_at = store.connection.now().timestamp() + 1
    while store.connection.now().timestamp() < ends_at:
        assert store.units.renew(lease)
        store.units.sweep(judge_leases=True)
    assert store.units.is_held(lease)
    store.close()


@pytest.mark.parametrize("lost", [("melm:leases",), ("todo", "units", "melm:leases"), ("todo", "leased")])
def test_lost_bookkeeping_is_planned_again(
    settings: Settings, tenant: str, server: RedisServer, lost: Sequence[str]
) -> None:
    store = open_engine(replace(settings, stalled_seconds=0.05))
    claim = after(store, opened(store, tenant, ["a", "b", "c"]))
    fit_id = claim.lease.fit_id
    server.client.delete(*(name if ":" in name else f"melm:{{{tenant}}}:fit:{fit_id}:{name}" for name in lost))

    def planned_again() -> bool:
        store.units.sweep(judge_leases=False)
        answer = store.units.next(THERE)
        return answer.claim is not None and answer.claim.is_plan

    wait_until(planned_again)
    assert store.units.results(tenant, fit_id) == {"a": {}}
    assert taken(store, THERE).lease.fit_id == fit_id
    store.close()


def test_a_newer_record_is_left_to_others(store: Engine, tenant: str, server: RedisServer) -> None:
    """And stands in nobody's way."""
    fit_id = new_fit(store, tenant)
    server.client.hset(f"melm:{{{tenant}}}:fit:{fit_id}:meta", "schema_version", 3)
    answer = store.units.next(HERE)
    assert (answer.claim, answer.unreadable) == (None, [fit_id])
    other = new_fit(store, tenant)
    assert taken(store).lease.fit_id == other
    assert store.workers.health().unreadable_fits == 1


@pytest.mark.parametrize(
    "earlier", [("library_version", "0.0.9"), ("schema_version", "1")], ids=lambda earlier: str(earlier[0])
)
def test_a_fit_of_an_earlier_version_is_planned_again(
    store: Engine, tenant: str, server: RedisServer, earlier: tuple[str, str]
) -> None:
    first = opened(store, tenant, ["a", "b", "c"])
    after(store, first, Done([UnitReport("a", {"x": 1}, start=0, divergence=1.0)]))
    server.client.hset(f"melm:{{{tenant}}}:fit:{first.lease.fit_id}:meta", *earlier)
    claim = taken(store, THERE)
    assert claim.is_plan
    assert store.units.leases() == [claim.lease]
    assert store.units.results(tenant, first.lease.fit_id) == {}
    fit = store.fits.get(tenant, first.lease.fit_id)
    assert (fit.starts_done, fit.best_divergence, fit.library_version) == (0, None, version("melm"))
    assert fit.schema_version == 2
    store.units.settle(claim.lease, published(store))
    assert server.client.hlen(f"melm:{{{tenant}}}:fits:equal") == 0


@pytest.mark.parametrize("later", ["99.0.0", "0.99"])
def test_a_fit_of_a_later_library_is_left_to_others(
    store: Engine, tenant: str, server: RedisServer, later: str
) -> None:
    fit_id = new_fit(store, tenant)
    server.client.hset(f"melm:{{{tenant}}}:fit:{fit_id}:meta", "library_version", later)
    assert store.units.next(HERE).unreadable == [fit_id]
    assert store.units.leases() == []
    assert store.workers.health().unreadable_fits == 1


def test_names_with_spaces_are_names(store: Engine, tenant: str) -> None:
    claim = opened(store, tenant, ["gamma 1 fold 2 start 3"])
    assert store.units.leases() == [claim.lease]
    assert store.units.is_held(claim.lease)
