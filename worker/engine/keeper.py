"""Renewal of leases: the parent process of a worker renews the leases of all its child processes.

A child reports its lease on a pipe. The parent renews it, because a thread of the child could not run while a C
function holds the GIL. If the lease is lost, the parent sets a byte in shared memory, and kills the child if it does
not stop.
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
    """The report of a child process: its current lease, and a number that cycles from 1 to `LAST_NUMBER`."""

    pid: int
    slot: int
    number: int
    lease: Lease | None


LAST_NUMBER = 255  # the largest value of a byte


class Family:
    """Shared by a parent and its forked children: a pipe to the parent, and shared memory with a byte per child."""

    def __init__(self, n_children: int = 1) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._bytes = mmap.mmap(-1, n_children + 1)

    def report(self, slot: int, number: int, lease: Lease | None) -> None:
        """Called by a child: report its lease. A write of up to PIPE_BUF bytes is atomic."""
        self._bytes[slot + 1] = 0
        message = {"pid": os.getpid(), "slot": slot, "number": number, "lease": lease and lease.model_dump()}
        os.write(self._write, json.dumps(message).encode() + b"\n")

    def wait_for_reports(self, timeout_seconds: float) -> list[Report]:
        """Called by the parent: wait for reports, and return all that have arrived."""
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
        """Called by the parent: tell a child that a lease is lost. The number says which one: it may have a new one."""
        self._bytes[report.slot + 1] = report.number

    def is_lost(self, slot: int, number: int) -> bool:
        """Called by a child: whether its lease with this number is lost."""
        return self._bytes[slot + 1] == number

    def stop(self) -> None:
        """Called by the parent: ask all children to release their leases."""
        self._bytes[0] = 1

    def is_stopping(self) -> bool:
        """Called by a child: whether it has been asked to stop."""
        return self._bytes[0] == 1


class ChildKeeper:
    """Reports the lease of this process to its parent, and learns from it when the lease is lost."""

    def __init__(self, family: Family, slot: int, unit_seconds: float) -> None:
        self._family = family
        self._slot = slot
        self._unit_seconds = unit_seconds
        self._number = 0
        self._lease: Lease | None = None
        self._ends_at = float("inf")

    def hold(self, lease: Lease | None) -> None:
        """Set the current lease."""
        if lease is None and self._lease is None:
            return
        self._lease = lease
        self._ends_at = time.monotonic() + self._unit_seconds
        self._number = self._number % LAST_NUMBER + 1
        self._family.report(self._slot, self._number, lease)

    def should_stop(self) -> bool:
        """Whether the current unit is to stop: lost, out of time, or because the process stops."""
        is_lost = self._family.is_lost(self._slot, self._number) and self._lease is not None
        return is_lost or self._family.is_stopping() or self.is_out_of_time()

    def is_stopping(self) -> bool:
        """Whether the process is to stop."""
        return self._family.is_stopping()

    def is_out_of_time(self) -> bool:
        """Whether the current unit has exceeded the unit timeout."""
        return time.monotonic() > self._ends_at


@dataclass
class HeldLease:
    """The lease that a child process works on, as its parent knows it."""

    report: Report
    lease: Lease
    since: float
    renewed_at: float
    looked_at: float
    lost_at: float | None = None


class ParentKeeper:
    """Renews the leases of all child processes, tells a child if its lease is lost, and kills it if it does not stop.

    It also sends the heartbeat of the worker.
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
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and remove the worker's heartbeat."""
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
                continue  # the server is unavailable: try again at the next tick
            except Exception:
                logger.exception("keeper failed")

    def _is_stalled(self) -> bool:
        """Whether fits wait that this worker could run, and no worker runs any."""
        health = self._store.workers.health()
        return not health.moving and health.active_fits > health.unreadable_fits

    def _end_worker(self) -> None:
        """End this worker, so that its supervisor restarts it. A stuck consumer may not handle SIGTERM either."""
        logger.critical("stalled: fits wait, but the worker receives no messages; exiting")
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
        """Whether the lease is still held; renews it if that is due."""
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
    """How often a parent checks its children, even if they report nothing."""
    return min(settings.renew_seconds / 5, settings.cancel_poll_seconds)
