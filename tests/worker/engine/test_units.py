import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

from melm.plan import Stage, Unit
from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.engine.units import Claim, LeaseLost, UnitReport
from worker.store.errors import NewerLibrary, UnknownSchema
from worker.store.records import FitError, Lease, Status
from worker.store.settings import Settings

HERE, THERE = "here/1/1", "there/2/2"


def new_fit(store: Engine, tenant: str, *, budget: float | None = None) -> str:
    return store.fits.submit(tenant, submission(stored_dataset(store, tenant), budget=budget, force=True))[0].id


def stage(names: Sequence[str]) -> Stage:
    return Stage("search", [Unit(name) for name in names], 0.2, 0.6)


def held(claim: Claim | None) -> Lease:
    assert claim is not None
    assert claim.lease is not None
    return claim.lease


def opened(store: Engine, tenant: str, names: Sequence[str], *, budget: float | None = None) -> Claim:
    """A fit whose first stage was just planned by a process here, which has the first unit in hand."""
    plan = held(store.units.claim(tenant, new_fit(store, tenant, budget=budget), HERE))
    claim = store.units.open_stage(plan, HERE, stage(names), [(name, {"name": name}) for name in names])
    assert claim is not None
    return claim


def types(store: Engine, lease: Lease) -> list[str]:
    return [event.type for event in store.fits.events(lease.tenant, lease.fit_id)]


def test_the_first_unit_is_to_plan(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    claim = store.units.claim(tenant, fit_id, HERE)
    assert claim.is_plan
    fit = store.fits.get(tenant, fit_id)
    assert fit.status is Status.RUNNING
    assert fit.started_at is not None
    assert types(store, held(claim)) == ["queued", "started"]


def test_a_unit_has_one_owner(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    first = held(store.units.claim(tenant, fit_id, HERE))
    assert store.units.claim(tenant, fit_id, THERE).lease is None
    assert held(store.units.claim(tenant, fit_id, HERE)) == first  # asked again: the answer was lost


def test_the_planner_carries_on_and_messages_fill_the_window(store: Engine, tenant: str) -> None:
    claim = opened(store, tenant, ["a", "b", "c", "d"])
    assert (held(claim).unit, claim.arguments, claim.n_messages) == ("a", {"name": "a"}, 1)  # window of 2
    assert store.fits.get(tenant, held(claim).fit_id).stage == "search"


def test_no_more_units_than_the_window_are_in_flight(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b", "c", "d"])
    fit_id = held(first).fit_id
    assert held(store.units.claim(tenant, fit_id, THERE)).unit == "b"
    assert store.units.claim(tenant, fit_id, "third/3/3").lease is None
    following = store.units.complete(held(first), HERE, UnitReport({}), carry_on=True)
    assert (held(following).unit, following.n_messages) == ("c", 0)


def test_a_turn_that_ends_sends_a_message_instead(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b", "c"])
    following = store.units.complete(held(first), HERE, UnitReport({}), carry_on=False)
    assert (following.lease, following.n_messages) == (None, 1)
    assert {held(store.units.claim(tenant, held(first).fit_id, process)).unit for process in (HERE, THERE)} == {
        "b",
        "c",
    }


def test_whoever_ends_the_stage_plans_the_next(store: Engine, tenant: str) -> None:
    first = opened(store, tenant, ["a", "b"])
    other = store.units.claim(tenant, held(first).fit_id, THERE)
    assert store.units.complete(held(first), HERE, UnitReport({"V": np.ones(2)}), carry_on=True).lease is None
    following = store.units.complete(
        held(other), THERE, UnitReport(None, FitError(type="E", message="m")), carry_on=False
    )
    assert following.is_plan
    results = store.units.results(tenant, held(first).fit_id, ["a", "b", "c"])
    assert results.keys() == {"a", "b"}
    assert results["a"] is not None
    assert np.array_equal(results["a"]["V"], np.ones(2))
    assert results["b"] is None
    assert store.units.first_error(tenant, held(first).fit_id) == FitError(type="E", message="m")


def test_starts_are_progress(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["a", "b", "c"]))
    for start, divergence in enumerate([1.0000000000000002, 0.5, 2.5]):
        report = UnitReport({}, start=start, divergence=divergence, seconds=0.2)
        following = store.units.complete(lease, HERE, report, carry_on=True)
        lease = held(following)
        expected = 1.0000000000000002 if start < 2 else 2.5
        assert store.fits.get(tenant, lease.fit_id).best_divergence == expected
    assert store.fits.get(tenant, lease.fit_id).starts_done == 3
    assert types(store, lease) == ["queued", "started", "start_done", "best", "start_done", "start_done", "best"]


def test_a_late_writer_is_refused(store: Engine, tenant: str) -> None:
    late = held(opened(store, tenant, ["a", "b"]))
    store.units.release(late, dead=True)
    current = held(store.units.claim(tenant, late.fit_id, THERE))
    while current.unit != late.unit:
        current = held(store.units.complete(current, THERE, UnitReport({}), carry_on=True))
    assert current.fence > late.fence
    for _ in range(2):
        with pytest.raises(LeaseLost):
            store.units.complete(late, HERE, UnitReport({"who": "late"}), carry_on=True)
        assert not store.units.renew(late)
        assert not store.units.is_held(late)
        assert store.units.release(late, dead=False) == 0
        if current.unit == late.unit:
            current = held(store.units.complete(current, THERE, UnitReport({"who": "current"}), carry_on=True))
    assert store.units.results(tenant, late.fit_id, ["a"]) == {"a": {"who": "current"}}


def test_an_answer_that_was_lost_can_be_asked_for_again(store: Engine, tenant: str) -> None:
    plan = held(store.units.claim(tenant, new_fit(store, tenant), HERE))
    units: list[tuple[str, dict[str, Any]]] = [("a", {}), ("b", {}), ("c", {})]
    first = store.units.open_stage(plan, HERE, stage(["a", "b", "c"]), units)
    assert store.units.open_stage(plan, HERE, stage(["a", "b", "c"]), units) == replace_messages(first, 0)
    report = UnitReport({}, start=0, divergence=1.0)
    second = store.units.complete(held(first), HERE, report, carry_on=True)
    assert store.units.complete(held(first), HERE, report, carry_on=True) == replace_messages(second, 0)
    assert store.fits.get(tenant, plan.fit_id).starts_done == 1


def replace_messages(claim: Claim | None, n_messages: int) -> Claim:
    assert claim is not None
    return replace(claim, n_messages=n_messages)


def test_a_stage_is_opened_by_its_planner_only(store: Engine, tenant: str) -> None:
    plan = held(store.units.claim(tenant, new_fit(store, tenant), HERE))
    store.units.release(plan, dead=True)
    held(store.units.claim(tenant, plan.fit_id, THERE))
    with pytest.raises(LeaseLost):
        store.units.open_stage(plan, HERE, stage(["a"]), [("a", {})])
    with pytest.raises(LeaseLost):
        store.units.finish(plan, Status.FAILED)


def test_a_dead_process_uses_an_attempt_and_one_that_stops_does_not(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["a"]))
    for _ in range(5):
        assert store.units.release(lease, dead=False) == 1
        lease = held(store.units.claim(tenant, lease.fit_id, HERE))
    assert store.fits.get(tenant, lease.fit_id).recoveries == 0
    for _ in range(2):
        assert store.units.release(lease, dead=True) == 1
        lease = held(store.units.claim(tenant, lease.fit_id, HERE))
        assert lease.unit == "a"
    store.units.release(lease, dead=True)
    assert store.units.claim(tenant, lease.fit_id, HERE).is_plan  # given up: the plan goes on without it
    assert store.units.results(tenant, lease.fit_id, ["a"]) == {"a": None}
    error = store.units.first_error(tenant, lease.fit_id)
    assert error is not None
    assert (error.type, "3 times" in error.message) == ("WorkerLost", True)
    assert store.fits.get(tenant, lease.fit_id).recoveries == 3
    assert types(store, lease).count("recovered") == 3


def test_a_plan_that_takes_its_process_down_fails_the_fit(store: Engine, tenant: str) -> None:
    fit_id = new_fit(store, tenant)
    for _ in range(3):
        store.units.release(held(store.units.claim(tenant, fit_id, HERE)), dead=True)
    assert store.units.claim(tenant, fit_id, HERE).lease is None
    fit = store.fits.get(tenant, fit_id)
    assert (fit.status, fit.error and fit.error.type) == (Status.FAILED, "WorkerLost")


def test_a_parent_gives_a_unit_up_for_its_child(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["a"]))
    assert store.units.fail(lease, FitError(type="OutOfTime", message="too long")) == 1
    assert store.units.claim(tenant, lease.fit_id, THERE).is_plan


def test_a_plan_that_is_given_up_fails_the_fit(store: Engine, tenant: str) -> None:
    lease = held(store.units.claim(tenant, new_fit(store, tenant), HERE))
    assert store.units.fail(lease, FitError(type="OutOfTime", message="too long")) == 0
    fit = store.fits.get(tenant, lease.fit_id)
    assert (fit.status, fit.error and fit.error.type) == (Status.FAILED, "OutOfTime")


def test_cancel_takes_units_away(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["a", "b"]))
    assert store.units.is_held(lease)
    store.fits.cancel(tenant, lease.fit_id)
    assert not store.units.is_held(lease)
    with pytest.raises(LeaseLost):
        store.units.complete(lease, HERE, UnitReport({}), carry_on=True)
    assert store.units.leases() == []
    assert store.units.due() == []


def test_keep_best_plans_with_what_there_is(store: Engine, tenant: str) -> None:
    first = held(opened(store, tenant, ["a", "b", "c"]))
    second = held(store.units.complete(first, HERE, UnitReport({"x": 1}), carry_on=True))
    fit, changed = store.fits.cancel(tenant, first.fit_id, keep_best=True)
    assert (fit.status, fit.cancel, changed) == (Status.RUNNING, "keep_best", True)
    assert not store.units.is_held(second)
    plan = store.units.claim(tenant, first.fit_id, THERE)
    assert plan.is_plan
    assert store.units.open_stage(held(plan), THERE, stage(["d"]), [("d", {})]) is None
    model = store.models.new_record(data=b"", method="stand_in")
    store.units.publish(held(plan), model, {}, b"", ends=True)
    assert store.fits.get(tenant, first.fit_id).model_id == model.id


def test_a_retry_keeps_results_and_forgets_errors(store: Engine, tenant: str) -> None:
    first = held(opened(store, tenant, ["a", "b"]))
    second = held(store.units.complete(first, HERE, UnitReport({"x": 1}), carry_on=True))
    store.units.complete(second, HERE, UnitReport(None, FitError(type="E", message="m")), carry_on=True)
    store.fits.cancel(tenant, first.fit_id)
    store.fits.retry(tenant, first.fit_id)
    assert store.units.claim(tenant, first.fit_id, HERE).is_plan
    assert store.units.results(tenant, first.fit_id, ["a", "b"]) == {"a": {"x": 1}}


def test_out_of_time_is_like_keep_best(store: Engine, tenant: str) -> None:
    first = held(opened(store, tenant, ["a", "b", "c"], budget=0.5))
    deadline = store.fits.get(tenant, first.fit_id).deadline
    assert deadline is not None
    wait_until(lambda: store.connection.now() >= deadline)
    assert store.units.complete(first, HERE, UnitReport({"x": 1}), carry_on=False).is_plan
    assert store.fits.get(tenant, first.fit_id).cancel == "out_of_time"


def test_out_of_time_is_noticed_when_nobody_works(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["a", "b", "c"], budget=0.5))
    wait_until(lambda: (tenant, lease.fit_id) in store.units.due())
    assert store.units.redispatch(tenant, lease.fit_id, judge_leases=False) == 1
    assert not store.units.is_held(lease)
    assert store.units.claim(tenant, lease.fit_id, THERE).is_plan


def test_a_whole_fit_may_be_reused_and_others_not(store: Engine, tenant: str, server: RedisServer) -> None:
    first = held(opened(store, tenant, ["a"]))
    plan = held(store.units.complete(first, HERE, UnitReport(None, FitError(type="E", message="m")), carry_on=True))
    model = store.models.new_record(data=b"", method="stand_in")
    store.units.publish(plan, model, {}, b"", ends=True)
    store.units.publish(plan, model, {}, b"", ends=True)  # the answer was lost
    assert server.client.hlen(f"melm:{{{tenant}}}:fits:equal") == 0
    assert store.models.page(tenant).data == [model]


def test_overdue_leases_and_messages_are_found(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, lease_seconds=0.05, grace_seconds=0.05))
    lease = held(opened(store, tenant, ["a", "b", "c"]))
    wait_until(lambda: store.units.due() == [(tenant, lease.fit_id)])
    time.sleep(0.06)  # both the lease of a and the message of b are overdue then
    assert store.units.redispatch(tenant, lease.fit_id, judge_leases=False) == 1
    assert store.units.is_held(lease)
    assert store.units.redispatch(tenant, lease.fit_id, judge_leases=True) == 1
    assert not store.units.is_held(lease)
    assert store.fits.get(tenant, lease.fit_id).recoveries == 1
    store.close()


def test_a_renewed_lease_is_not_overdue(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, lease_seconds=0.3, window=1))
    lease = held(opened(store, tenant, ["a", "b"]))
    for _ in range(8):
        time.sleep(0.06)
        assert store.units.renew(lease)
        assert store.units.redispatch(tenant, lease.fit_id, judge_leases=True) == 0
    assert store.units.is_held(lease)
    store.close()


def test_messages_in_a_long_queue_are_sent_again_ever_more_rarely(tenant: str, settings: Settings) -> None:
    store = open_engine(replace(settings, grace_seconds=0.05))
    fit_id = new_fit(store, tenant)
    sent_at: list[float] = []
    while len(sent_at) < 4:
        if store.units.redispatch(tenant, fit_id, judge_leases=True):
            sent_at.append(time.monotonic())
        time.sleep(0.002)
    gaps = np.diff(sent_at)
    assert gaps[1] > 1.5 * gaps[0]
    assert gaps[2] > 1.5 * gaps[1]
    store.close()


def test_lost_bookkeeping_is_planned_anew(store: Engine, tenant: str, server: RedisServer) -> None:
    first = held(opened(store, tenant, ["a", "b", "c"]))
    held(store.units.complete(first, HERE, UnitReport({"x": 1}), carry_on=True))
    root = f"melm:{{{tenant}}}:fit:{first.fit_id}"
    server.client.delete(f"{root}:todo", f"{root}:waiting", f"{root}:units", "melm:leases")
    assert store.units.redispatch(tenant, first.fit_id, judge_leases=True) == 1
    plan = held(store.units.claim(tenant, first.fit_id, THERE))
    assert store.units.results(tenant, first.fit_id, ["a", "b", "c"]) == {"a": {"x": 1}}
    assert held(store.units.open_stage(plan, THERE, stage(["a", "b", "c"]), [("b", {}), ("c", {})])).unit == "b"


def test_a_newer_record_is_left_alone(store: Engine, tenant: str, server: RedisServer) -> None:
    fit_id = new_fit(store, tenant)
    server.client.hset(f"melm:{{{tenant}}}:fit:{fit_id}:meta", "schema_version", 2)
    with pytest.raises(UnknownSchema):
        store.units.claim(tenant, fit_id, HERE)
    assert store.units.leases() == []


def test_a_fit_of_an_earlier_library_is_planned_again(store: Engine, tenant: str, server: RedisServer) -> None:
    first = held(opened(store, tenant, ["a", "b", "c"]))
    held(store.units.complete(first, HERE, UnitReport({"x": 1}, start=0, divergence=1.0), carry_on=True))
    meta = f"melm:{{{tenant}}}:fit:{first.fit_id}:meta"
    server.client.hset(meta, "library_version", "0.0.9")
    claim = store.units.claim(tenant, first.fit_id, THERE)
    assert claim.is_plan
    assert store.units.leases() == [(held(claim), THERE)]
    assert store.units.results(tenant, first.fit_id, ["a"]) == {}
    fit = store.fits.get(tenant, first.fit_id)
    assert (fit.starts_done, fit.best_divergence, fit.library_version) == (0, None, version("melm"))
    model = store.models.new_record(data=b"", method="stand_in")
    store.units.publish(held(claim), model, {}, b"", ends=True)
    assert server.client.hlen(f"melm:{{{tenant}}}:fits:equal") == 0


@pytest.mark.parametrize("later", ["99.0.0", "0.99"])
def test_a_fit_of_a_later_library_is_left_to_others(
    store: Engine, tenant: str, server: RedisServer, later: str
) -> None:
    fit_id = new_fit(store, tenant)
    server.client.hset(f"melm:{{{tenant}}}:fit:{fit_id}:meta", "library_version", later)
    with pytest.raises(NewerLibrary, match=later):
        store.units.claim(tenant, fit_id, HERE)
    assert store.units.leases() == []
    assert store.workers.health().unreadable_fits == 1


def test_names_with_spaces_are_names(store: Engine, tenant: str) -> None:
    lease = held(opened(store, tenant, ["gamma 1 fold 2 start 3"]))
    assert store.units.leases() == [(lease, HERE)]
    assert store.units.is_held(lease)
