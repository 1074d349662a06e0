"""Runs fits: leases units, runs them, plans the next stage, ends the fit. Independent of Celery.

A process that is woken takes a turn: it runs units until there are none. A plan is replayed: it is run from its
beginning with the stored results, up to the first stage with units that have no result.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from resource import RUSAGE_SELF, getrusage
from typing import Any, ParamSpec, Protocol, TypeVar

from melm.plan import NothingFitted, Plan, Result, Stopped, Unit, batches, resamples_from_json, resamples_to_json
from worker.engine.cache import DatasetCache
from worker.engine.dispatch import Dispatcher
from worker.engine.engine import Engine
from worker.engine.library import Library
from worker.engine.units import Claim, Done, Ended, Opened, Outcome, Paused, Published, Released, UnitReport
from worker.store.errors import Gone, NotFound, StoreUnavailable
from worker.store.records import FitError, FitRecord, Lease, Status

P = ParamSpec("P")
T = TypeVar("T")
KEPT_FITS = 1000
MOST_AT_ONCE = 2_000  # units that one script makes ready; meanwhile the server is blocked

logger = logging.getLogger(__name__)


class Keeper(Protocol):
    """Keeps the current lease of a process, and knows when it has to stop."""

    def hold(self, lease: Lease | None) -> None:
        """Set the current lease."""
        ...

    def should_stop(self) -> bool:
        """Whether the current unit is to stop: canceled, lost, out of time, or because the process stops."""
        ...

    def is_stopping(self) -> bool:
        """Whether the process is to stop."""
        ...

    def is_out_of_time(self) -> bool:
        """Whether the current unit has exceeded the unit timeout."""
        ...


class Runner:
    """Runs units of fits in one process."""

    def __init__(self, store: Engine, dispatcher: Dispatcher, library: Library, keeper: Keeper, process: str) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._library = library
        self._keeper = keeper
        self._process = process
        self._datasets = DatasetCache(store, library)
        self._fits: dict[str, FitRecord] = {}

    def take_turn(self) -> None:
        """Run units until there are none, or the process is to stop."""
        lease: Lease | None = None
        outcome: Outcome | None = None
        stays_until = 0.0
        try:
            while True:
                stay = lease if time.monotonic() < stays_until else None
                claim = self._next(lease, outcome, stay)
                if claim is None:
                    return
                if lease is not None and claim.lease.fit_id != lease.fit_id and self._is_to_be_replaced():
                    self._dispatcher.send(self._store.units.settle(claim.lease, Released(dead=False)))
                    return
                if lease is None or claim.lease.fit_id != lease.fit_id or stay is None:
                    stays_until = time.monotonic() + self._store.settings.turn_seconds
                lease, outcome = claim.lease, self._work(claim)
        finally:
            self._keeper.hold(None)

    def _next(self, lease: Lease | None, outcome: Outcome | None, stay: Lease | None) -> Claim | None:
        """Store the outcome of a lease, take the next one, and wake other processes for units that became ready."""
        take = not self._keeper.is_stopping()
        if not take and outcome is None:
            return None
        answer = self._patiently(self._store.units.next, self._process, lease, outcome, stay=stay, take=take)
        self._dispatcher.send(answer.n_messages)
        for fit_id in answer.unreadable:
            logger.warning("left to a worker of another version", extra={"fit_id": fit_id})
        return answer.claim

    def _is_to_be_replaced(self) -> bool:
        """Whether this process has exceeded its memory limit. Celery replaces it when its turn is over."""
        return getrusage(RUSAGE_SELF).ru_maxrss * 1024 > self._store.settings.process_memory_bytes

    def _work(self, claim: Claim) -> Outcome | None:
        """Run the units of a lease; None if the lease was lost."""
        lease, began = claim.lease, time.monotonic()
        self._keeper.hold(lease)
        try:
            fit = self._fit(lease)
            data = self._patiently(self._datasets.load, lease.tenant, fit.dataset_id, fit.dataset_hash)
            if claim.is_plan:
                return self._plan(fit, claim, data)
            units = [unit_from_arguments(name, stored) for name, stored in claim.units.items()]
            before = sum(stored.get("seconds", 0.0) for stored in claim.units.values())
            return Done(self._run(fit, units, data, before))
        except Stopped as stopped:
            if self._keeper.should_stop() and not self._keeper.is_stopping():
                return None
            if stopped.so_far is None or len(claim.units) > 1:
                return Released(dead=False)
            (stored,) = claim.units.values()
            seconds = stored.get("seconds", 0.0) + time.monotonic() - began
            return Paused({**stored, "arguments": stored["arguments"] | stopped.so_far, "seconds": seconds})
        except StoreUnavailable:
            raise
        except Exception as error:  # a retry would fail again
            logger.exception("fit failed", extra={"fit_id": lease.fit_id, "unit": lease.unit})
            return Ended(Status.FAILED, fit_error(error))

    def _fit(self, lease: Lease) -> FitRecord:
        """The record of a fit, cached: its parameters never change."""
        if lease.fit_id not in self._fits:
            if len(self._fits) >= KEPT_FITS:
                self._fits.pop(next(iter(self._fits)))
            self._fits[lease.fit_id] = self._patiently(self._store.fits.get, lease.tenant, lease.fit_id)
        return self._fits[lease.fit_id]

    def _run(self, fit: FitRecord, units: Sequence[Unit], data: Any, before: float = 0.0) -> list[UnitReport]:
        """Run the units of a lease, which have already run for `before` seconds. An error of a unit is its result."""
        began = time.monotonic() - before
        try:
            results = self._library.run(fit, data, units, self._should_stop(units))
            previews = [self._library.preview(fit, data, *each) for each in zip(units, results, strict=True)]
        except Exception as error:  # the unit fails, and the fit continues without it
            if isinstance(error, Stopped) and not self._keeper.is_out_of_time():
                raise
            if len(units) > 1 and not isinstance(error, Stopped):  # find out which one failed
                return [report for unit in units for report in self._run(fit, [unit], data)]
            if isinstance(error, Stopped):
                failure = out_of_time(self._store.settings.unit_seconds)
            else:
                logger.exception("unit failed", extra={"fit_id": fit.id, "unit": units[0].name})
                failure = fit_error(error)
            seconds = time.monotonic() - began
            return [UnitReport(unit.name, None, failure, unit.start, seconds=seconds) for unit in units]
        seconds = (time.monotonic() - began) / len(units)
        return [
            UnitReport(
                unit.name,
                result,
                start=unit.start,
                divergence=divergence_of(unit, result),
                seconds=seconds,
                preview=preview,
            )
            for unit, result, preview in zip(units, results, previews, strict=True)
        ]

    def _should_stop(self, units: Sequence[Unit]) -> Callable[[], bool]:
        """A function that says when units are to stop: with their lease, or, if resumable, at the end of a time slice.

        A slice begins with the first call, which never ends it, so that each slice makes progress.
        """
        ends_at: float | None = None

        def should_stop() -> bool:
            nonlocal ends_at
            if ends_at is None:
                ends_at = time.monotonic() + self._store.settings.slice_seconds
                return self._keeper.should_stop()
            return self._keeper.should_stop() or time.monotonic() > ends_at

        is_resumable = len(units) == 1 and units[0].resumable
        return should_stop if is_resumable else self._keeper.should_stop

    def _plan(self, fit: FitRecord, claim: Claim, data: Any) -> Outcome:
        """The next stage of the plan of the model, or of that of its evidence; or the end of the plan."""
        models, lease = self._store.models, claim.lease
        try:
            if claim.model_id is None:
                end = self._replay(claim, self._library.plan(fit, data))
                if isinstance(end, Opened):
                    return end
                file, card = self._library.dump(end)
                record = models.new_record(
                    claim.at,
                    data=file,
                    method=fit.method,
                    name=fit.name,
                    fit_id=fit.id,
                    dataset_id=fit.dataset_id,
                    is_decoy=fit.permute_labels is not None,
                )
                return Published(record, card, file, ends=fit.validation is None)
            record, file = self._patiently(models.read, lease.tenant, claim.model_id)
            end = self._replay(claim, self._library.plan_evidence(fit, data, file))
            if isinstance(end, Opened):
                return end
            file, card = self._library.dump(end)
            return Published(models.with_evidence(record, file), card, file, ends=True)
        except NothingFitted as error:
            return self._nothing(lease, error)
        except (NotFound, Gone):  # the model was deleted, so its evidence is not needed
            return Ended(Status.CANCELED)

    def _replay(self, claim: Claim, plan: Plan[T]) -> Opened | T:
        """Run a plan with the stored results, to its end or to its first stage with units to run."""
        stored = self._patiently(self._store.units.results, claim.lease.tenant, claim.lease.fit_id)
        results: list[dict[str, Any] | None] | None = None
        while True:
            try:
                stage = next(plan) if results is None else plan.send(results)
            except StopIteration as end:
                outcome: T = end.value
                return outcome
            missing = [unit for unit in stage.units if unit.name not in stored]
            if missing and not claim.is_cut:
                leases = batches(missing[:MOST_AT_ONCE])
                n_done = len(stage.units) - len(missing)
                return Opened(stage, [[(u.name, unit_arguments(u)) for u in some] for some in leases], n_done)
            results = [stored.get(unit.name) for unit in stage.units]

    def _nothing(self, lease: Lease, error: NothingFitted) -> Ended:
        """The end of a fit without a model: canceled if its owner has canceled it, else failed with the reason."""
        fit = self._patiently(self._store.fits.get, lease.tenant, lease.fit_id)
        if fit.cancel == "keep_best":
            return Ended(Status.CANCELED)
        if fit.cancel == "out_of_time":
            message = "The time budget ended before any start was done."
            return Ended(Status.FAILED, FitError(type="OutOfTime", message=message))
        first = self._patiently(self._store.units.first_error, lease.tenant, lease.fit_id)
        return Ended(Status.FAILED, first or fit_error(error))

    def _patiently(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the store, and retry while it is unavailable, without a limit, so that results are not lost."""
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
    """An error for the owner of the fit."""
    return FitError(type=type(error).__name__, message=str(error))


def out_of_time(limit_seconds: float) -> FitError:
    """The error of a unit that exceeded the unit timeout."""
    return FitError(
        type="OutOfTime", message=f"It took longer than {limit_seconds:g} seconds, the most a unit may take."
    )


def divergence_of(unit: Unit, result: Result) -> float | None:
    """The divergence of a start of the main search, if it is finite."""
    divergence = result.get("divergence") if unit.start is not None else None
    return float(divergence) if divergence is not None and math.isfinite(divergence) else None


def unit_arguments(unit: Unit) -> dict[str, Any]:
    """The stored form of a unit."""
    resamples = resamples_to_json(unit.resamples)
    return {"arguments": unit.arguments, "resamples": resamples, "start": unit.start, "resumable": unit.resumable}


def unit_from_arguments(name: str, stored: dict[str, Any]) -> Unit:
    """A unit from its stored form."""
    resamples = resamples_from_json(stored["resamples"])
    return Unit(name, stored["arguments"], resamples, stored["start"], resumable=stored["resumable"])
