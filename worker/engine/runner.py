"""Works on fits: takes units, runs them, plans what comes next, ends the fit. Knows nothing of Celery.

A worker is woken for a fit and takes a turn: it runs units of that fit until its time is up and then lets others have
theirs. A plan is driven by replay: it is run again from its beginning with the stored results, up to the first stage
that has units without one.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from melm.plan import NothingFitted, Plan, Stopped, Unit, resamples_from_json, resamples_to_json
from worker.engine.cache import DatasetCache
from worker.engine.dispatch import Dispatcher
from worker.engine.engine import Engine
from worker.engine.library import Library
from worker.engine.units import Claim, LeaseLost, UnitReport
from worker.store.errors import Gone, NotFound, StoreUnavailable, UnknownSchema
from worker.store.records import FitError, FitRecord, Lease, Status

P = ParamSpec("P")
T = TypeVar("T")
NOTHING = Claim(None, {}, 0)

logger = logging.getLogger(__name__)


class Keeper(Protocol):
    """Keeps the lease of the unit in hand, and knows when to let go of it."""

    def hold(self, lease: Lease | None) -> None:
        """This is the unit in hand now."""
        ...

    def should_stop(self) -> bool:
        """Whether the unit in hand is no longer wanted here."""
        ...

    def is_stopping(self) -> bool:
        """Whether the whole process is to stop."""
        ...

    def is_out_of_time(self) -> bool:
        """Whether the unit in hand has had all the time that one may have."""
        ...


class Runner:
    """Takes turns at fits, for one process."""

    def __init__(self, store: Engine, dispatcher: Dispatcher, library: Library, keeper: Keeper, process: str) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._library = library
        self._keeper = keeper
        self._process = process
        self._is_alone = False
        self._datasets = DatasetCache(store, library)

    def take_turn(self, tenant: str, fit_id: str) -> None:
        """Work on a fit until there is nothing to do, others should have their turn, or the process is to stop."""
        turn_ends_at = time.monotonic() + self._store.settings.turn_seconds
        self._is_alone = False
        try:
            claim = self._claim(tenant, fit_id)
            if claim.lease is None:
                return
            fit = self._patiently(self._store.fits.get, tenant, fit_id)
            while claim.lease is not None:
                claim = self._work(fit, claim, claim.lease, turn_ends_at)
        except UnknownSchema as error:
            logger.warning("left to a worker of another version", extra={"fit_id": fit_id, "reason": str(error)})
        except (LeaseLost, NotFound, Gone):
            logger.info("no longer wanted here", extra={"fit_id": fit_id})
        finally:
            self._keeper.hold(None)

    def _claim(self, tenant: str, fit_id: str) -> Claim:
        claim = self._patiently(self._store.units.claim, tenant, fit_id, self._process)
        self._dispatcher.send(tenant, fit_id, claim.n_messages)
        return claim

    def _work(self, fit: FitRecord, claim: Claim, lease: Lease, turn_ends_at: float) -> Claim:
        """Do the unit in hand; answers the next one."""
        self._keeper.hold(lease)
        try:
            data = self._patiently(self._datasets.load, lease.tenant, fit.dataset_id, fit.dataset_hash)
            if claim.is_plan:
                following = self._plan(fit, lease, data)
            else:
                report = self._run(fit, lease, claim.arguments, data)
                # A full server takes no messages: whoever has a fit in hand then stays with it.
                carry_on = time.monotonic() < turn_ends_at or self._patiently(self._store.is_full)
                following = self._patiently(self._store.units.complete, lease, self._process, report, carry_on=carry_on)
        except Stopped:
            return self._stop(lease)
        except (StoreUnavailable, LeaseLost):
            raise
        except Exception as error:  # a plan that breaks would break again, and a damaged dataset does not heal
            logger.exception("fit failed", extra={"fit_id": fit.id, "unit": lease.unit})
            return self._end(lease, Status.FAILED, failure=fit_error(error))
        self._send(lease, following.n_messages)
        if following.lease is None and self._is_alone:
            # Nobody else can be woken: a turn without an end is better than a fit without one.
            return self._claim(lease.tenant, lease.fit_id)
        return following

    def _send(self, lease: Lease, n_messages: int) -> None:
        if not self._dispatcher.send(lease.tenant, lease.fit_id, n_messages):
            self._is_alone = True

    def _stop(self, lease: Lease) -> Claim:
        """Let go of a unit: give it back when the process is to stop. Else it was taken away, and more may wait."""
        if not self._keeper.is_stopping():
            return self._claim(lease.tenant, lease.fit_id)
        self._dispatcher.send(lease.tenant, lease.fit_id, self._store.units.release(lease, dead=False))
        return NOTHING

    def _run(self, fit: FitRecord, lease: Lease, stored: dict[str, Any], data: Any) -> UnitReport:
        """Run one unit. What goes wrong inside it is its result."""
        unit = unit_from_arguments(lease.unit, stored)
        began = time.monotonic()
        try:
            result = self._library.run(fit, data, unit, self._keeper.should_stop)
        except Stopped:
            if not self._keeper.is_out_of_time():
                raise
            failure = out_of_time(self._store.settings.unit_seconds)
            return UnitReport(None, failure, unit.start, seconds=time.monotonic() - began)
        except Exception as error:  # the unit is given up, and the fit goes on without it
            logger.exception("unit failed", extra={"fit_id": fit.id, "unit": lease.unit})
            return UnitReport(None, fit_error(error), unit.start, seconds=time.monotonic() - began)
        divergence = result.get("divergence") if unit.start is not None else None
        return UnitReport(
            result,
            start=unit.start,
            divergence=float(divergence) if divergence is not None and math.isfinite(divergence) else None,
            seconds=time.monotonic() - began,
            preview=self._library.preview(fit, data, unit, result),
        )

    def _plan(self, fit: FitRecord, lease: Lease, data: Any) -> Claim:
        """Put up the next stage of the model, or else of the evidence for it; where there is none, the fit ends."""
        store = self._store
        fit = self._patiently(store.fits.get, lease.tenant, fit.id)
        try:
            if fit.model_id is None:
                following, model = self._replay(fit, lease, self._library.plan(fit, data))
                if following is not None:
                    return following
                file, card = self._library.dump(model)
                record = self._patiently(
                    store.models.new_record,
                    data=file,
                    method=fit.method,
                    name=fit.name,
                    fit_id=fit.id,
                    dataset_id=fit.dataset_id,
                    is_decoy=fit.permute_labels is not None,
                )
                ends = fit.validation is None
                self._patiently(store.units.publish, lease, record, card, file, ends=ends)
                if ends:
                    return NOTHING
            else:
                record, file = self._patiently(store.models.read, lease.tenant, fit.model_id)
            following, model = self._replay(fit, lease, self._library.plan_evidence(fit, data, file))
            if following is not None:
                return following
        except NothingFitted as error:
            return self._fail(lease, error)
        except (NotFound, Gone):  # the model was deleted: nobody wants its evidence
            return self._end(lease, Status.CANCELED)
        file, card = self._library.dump(model)
        record = store.models.with_evidence(record, file)
        self._patiently(store.units.publish, lease, record, card, file, ends=True)
        return NOTHING

    def _replay(self, fit: FitRecord, lease: Lease, plan: Plan[T]) -> tuple[Claim, None] | tuple[None, T]:
        """Run a plan with the stored results, to its end or to its first stage with units to run; those are put up."""
        units = self._store.units
        results: list[dict[str, Any] | None] | None = None
        is_cut = False
        while True:
            try:
                stage = next(plan) if results is None else plan.send(results)
            except StopIteration as end:
                return None, end.value
            found = self._patiently(units.results, lease.tenant, fit.id, [unit.name for unit in stage.units])
            missing = [(unit.name, unit_arguments(unit)) for unit in stage.units if unit.name not in found]
            if missing and not is_cut:
                following = self._patiently(units.open_stage, lease, self._process, stage, missing)
                if following is not None:
                    return following, None
                is_cut = True
            results = [found.get(unit.name) for unit in stage.units]

    def _fail(self, lease: Lease, error: NothingFitted) -> Claim:
        """End a fit that has nothing to show: canceled where that was asked for, else failed with the reason."""
        fit = self._patiently(self._store.fits.get, lease.tenant, lease.fit_id)
        if fit.cancel == "keep_best":
            return self._end(lease, Status.CANCELED)
        if fit.cancel == "out_of_time":
            failure = FitError(type="OutOfTime", message="The time budget ended before any start was done.")
        else:
            failure = self._patiently(self._store.units.first_error, lease.tenant, lease.fit_id) or fit_error(error)
        return self._end(lease, Status.FAILED, failure=failure)

    def _end(self, lease: Lease, status: Status, failure: FitError | None = None) -> Claim:
        self._patiently(self._store.units.finish, lease, status, failure=failure)
        return NOTHING

    def _patiently(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the store, and wait for it while it is away, however long: work that is done is not thrown away."""
        pause = 0.05
        while True:
            try:
                return call(*args, **kwargs)
            except StoreUnavailable:
                if self._keeper.is_stopping():
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 1.0)


def fit_error(error: Exception) -> FitError:
    """What went wrong, as it is shown to the fit's owner."""
    return FitError(type=type(error).__name__, message=str(error))


def out_of_time(limit_seconds: float) -> FitError:
    """Why a unit was given up that took too long."""
    return FitError(
        type="OutOfTime", message=f"It took longer than {limit_seconds:g} seconds, the most a unit may take."
    )


def unit_arguments(unit: Unit) -> dict[str, Any]:
    """A unit as it is stored beside its name."""
    return {"arguments": unit.arguments, "resamples": resamples_to_json(unit.resamples), "start": unit.start}


def unit_from_arguments(name: str, stored: dict[str, Any]) -> Unit:
    """A unit from what was stored."""
    return Unit(name, stored["arguments"], resamples_from_json(stored["resamples"]), stored["start"])
