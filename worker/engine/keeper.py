"""Keeping leases: the parent of a worker's processes renews them, alone.

A child says on a pipe which unit it has in hand. The parent renews the lease, because a thread of the child gets no
time while a C function holds the interpreter. When the lease is gone it says so in a byte that the child shares with
it, and kills a child that goes on nevertheless.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import select
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from worker.engine.dispatch import Dispatcher
from worker.engine.engine import Engine
from worker.engine.runner import out_of_time
from worker.engine.units import Released
from worker.store.errors import ContractError
from worker.store.process import is_dead_here
from worker.store.records import Lease
from worker.store.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What a child says: the unit that it has in hand now, and how many it has had, counted up to `LAST_NUMBER`."""

    pid: int
    slot: int
    number: int
    lease: Lease | None


LAST_NUMBER = 255  # what a byte can hold


class Family:
    """What a parent and the children it forks share: a pipe upwards, one byte for each child downwards, one for all."""

    def __init__(self, n_children: int = 1) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._bytes = mmap.mmap(-1, n_children + 1)

    def report(self, slot: int, number: int, lease: Lease | None) -> None:
        """Child: this is what I have in hand. One write below PIPE_BUF arrives whole."""
        self._bytes[slot + 1] = 0
        message = {"pid": os.getpid(), "slot": slot, "number": number, "lease": lease and lease.model_dump()}
        os.write(self._write, json.dumps(message).encode() + b"\n")

    def wait_for_reports(self, timeout_seconds: float) -> list[Report]:
        """Parent: what children said since the last time; waits for the first word."""
        select.select([self._read], [], [], timeout_seconds)
        data = b""
        while True:
            try:
                data += os.read(self._read, 1 << 16)
            except BlockingIOError:
                if not data or data.endswith(b"\n"):
                    break
        messages = [json.loads(line) for line in data.splitlines()]
        return [Report(**{**each, "lease": each["lease"] and Lease.model_validate(each["lease"])}) for each in messages]

    def tell_lost(self, report: Report) -> None:
        """Parent: that unit is no longer yours. It says which, since the child may have gone on to the next."""
        self._bytes[report.slot + 1] = report.number

    def is_lost(self, slot: int, number: int) -> bool:
        """Child: whether the parent said so of the unit with this number."""
        return self._bytes[slot + 1] == number

    def stop(self) -> None:
        """Parent: let go of what you have in hand."""
        self._bytes[0] = 1

    def is_stopping(self) -> bool:
        """Child: whether the parent said so."""
        return self._bytes[0] == 1


class ChildKeeper:
    """Tells the parent which unit this process has in hand, and hears when it is gone."""

    def __init__(self, family: Family, slot: int, unit_seconds: float) -> None:
        self._family = family
        self._slot = slot
        self._unit_seconds = unit_seconds
        self._number = 0
        self._lease: Lease | None = None
        self._ends_at = float("inf")

    def hold(self, lease: Lease | None) -> None:
        """This is the unit in hand now."""
        if lease is None and self._lease is None:
            return
        self._lease = lease
        self._ends_at = time.monotonic() + self._unit_seconds
        self._number = self._number % LAST_NUMBER + 1
        self._family.report(self._slot, self._number, lease)

    def should_stop(self) -> bool:
        """Whether the unit in hand is no longer wanted here."""
        is_lost = self._family.is_lost(self._slot, self._number) and self._lease is not None
        return is_lost or self._family.is_stopping() or self.is_out_of_time()

    def is_stopping(self) -> bool:
        """Whether the whole process is to stop."""
        return self._family.is_stopping()

    def is_out_of_time(self) -> bool:
        """Whether the unit in hand has had all the time that one may have."""
        return time.monotonic() > self._ends_at


@dataclass
class HeldLease:
    """What a child has in hand, as its parent sees it."""

    report: Report
    lease: Lease
    since: float
    renewed_at: float
    looked_at: float
    lost_at: float | None = None


class ParentKeeper:
    """Renews the leases of all children, tells them when one is gone, and kills those that do not let go.

    Says that the worker is alive.
    """

    def __init__(self, store: Engine, dispatcher: Dispatcher, family: Family, name: str) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._family = family
        self._name = name
        self._held: dict[int, HeldLease] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin to watch in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more, and say that the worker has ended."""
        self._stop.set()
        self._thread.join()
        with suppress(ContractError):
            self._store.workers.leave(self._name)

    def _run(self) -> None:
        settings = self._store.settings
        beats_at = 0.0
        heard_at = time.monotonic()
        while not self._stop.is_set():
            for report in self._family.wait_for_reports(tick(settings)):
                heard_at = now = time.monotonic()
                self._held.pop(report.pid, None)
                if report.lease is not None:
                    self._held[report.pid] = HeldLease(report, report.lease, since=now, renewed_at=now, looked_at=now)
            try:
                for pid, held in list(self._held.items()):
                    self._look_after(pid, held)
                if time.monotonic() >= beats_at:
                    self._store.workers.beat(self._name, settings.worker_processes)
                    beats_at = time.monotonic() + settings.renew_seconds
                    if time.monotonic() - heard_at > settings.stalled_seconds and self._is_stalled():
                        self._end_worker()
            except ContractError:
                continue  # the server is away: the next look may find it back
            except Exception:
                logger.exception("keeper failed")

    def _is_stalled(self) -> bool:
        """Whether fits wait that this worker could work on, and nobody does."""
        health = self._store.workers.health()
        return not health.moving and health.active_fits > health.unreadable_fits

    def _end_worker(self) -> None:
        """The consumer of messages consumes no more, and may not even hear a signal. A supervisor starts another."""
        logger.critical("fits wait and no message comes: the worker ends")
        os.kill(os.getpid(), signal.SIGTERM)
        if not self._stop.wait(self._store.settings.kill_seconds):
            os.kill(os.getpid(), signal.SIGKILL)  # its children end with it

    def _look_after(self, pid: int, held: HeldLease) -> None:
        settings = self._store.settings
        now = time.monotonic()
        if is_dead_here(held.lease.process):
            del self._held[pid]
            self._dispatcher.send(self._store.units.settle(held.lease, Released(dead=True)))
        elif now - held.since > settings.unit_seconds + settings.kill_seconds:
            self._dispatcher.send(self._store.units.give_up(held.lease, out_of_time(settings.unit_seconds)))
            self._kill(pid, held, "out of time")
        elif held.lost_at is not None and now - held.lost_at > settings.kill_seconds:
            self._kill(pid, held, "no longer wanted")
        elif held.lost_at is None and now - held.looked_at >= tick(settings):
            held.looked_at = now
            if not self._is_held(held, now):
                held.lost_at = now
                self._family.tell_lost(held.report)

    def _is_held(self, held: HeldLease, now: float) -> bool:
        """Whether the lease still stands; renews it when that is due."""
        if now - held.renewed_at < self._store.settings.renew_seconds:
            return self._store.units.is_held(held.lease)
        held.renewed_at = now
        return self._store.units.renew(held.lease)

    def _kill(self, pid: int, held: HeldLease, reason: str) -> None:
        logger.warning("killed", extra={"fit_id": held.lease.fit_id, "unit": held.lease.unit, "reason": reason})
        del self._held[pid]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def tick(settings: Settings) -> float:
    """How often a parent looks after its children, even when they say nothing."""
    return min(settings.renew_seconds / 5, settings.cancel_poll_seconds)
