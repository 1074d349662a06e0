"""Keeping leases: in the child that works, and in the parent that watches it.

A child says on a pipe which unit it has in hand. The parent renews the lease, because a thread of the child gets no
time while a C function holds the interpreter; it kills a child that goes on with a unit nobody wants any more.
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
from worker.engine.units import LeaseLost
from worker.store.errors import ContractError
from worker.store.process import identity, is_dead_here
from worker.store.records import Lease
from worker.store.settings import Settings

logger = logging.getLogger(__name__)


class Family:
    """What a parent and the children it forks share: a pipe upwards, and one byte downwards that says stop."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._stopping = mmap.mmap(-1, 1)

    def report(self, lease: Lease | None) -> None:
        """Child: this is what I have in hand. One write below PIPE_BUF arrives whole."""
        message = {"pid": os.getpid(), "lease": None if lease is None else lease.model_dump()}
        os.write(self._write, json.dumps(message).encode() + b"\n")

    def wait_for_reports(self, timeout_seconds: float) -> list[tuple[int, Lease | None]]:
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
        return [(each["pid"], each["lease"] and Lease.model_validate(each["lease"])) for each in messages]

    def stop(self) -> None:
        """Parent: let go of what you have in hand."""
        self._stopping[0] = 1

    def is_stopping(self) -> bool:
        """Child: whether the parent said so."""
        return self._stopping[0] == 1


class ChildKeeper:
    """Keeps the lease of the unit that this process has in hand, and notices when it is gone."""

    def __init__(self, store: Engine, family: Family) -> None:
        self._store = store
        self._family = family
        self._lease: Lease | None = None
        self._lost: Lease | None = None
        self._ends_at = float("inf")
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    def hold(self, lease: Lease | None) -> None:
        """This is the unit in hand now."""
        if lease is None and self._lease is None:
            return
        self._lease = lease
        self._ends_at = time.monotonic() + self._store.settings.unit_seconds
        self._family.report(lease)

    def should_stop(self) -> bool:
        """Whether the unit in hand is no longer wanted here."""
        is_lost = self._lost is not None and self._lost is self._lease
        return is_lost or self._family.is_stopping() or self.is_out_of_time()

    def is_stopping(self) -> bool:
        """Whether the whole process is to stop."""
        return self._family.is_stopping()

    def is_out_of_time(self) -> bool:
        """Whether the unit in hand has had all the time that one may have."""
        return time.monotonic() > self._ends_at

    def _run(self) -> None:
        settings = self._store.settings
        renewed_at = time.monotonic()
        while True:
            time.sleep(settings.cancel_poll_seconds)
            lease = self._lease
            if lease is None:
                continue
            try:
                if time.monotonic() - renewed_at >= settings.renew_seconds:
                    renewed_at = time.monotonic()
                    is_held = self._store.units.renew(lease)
                else:
                    is_held = self._store.units.is_held(lease)
            except ContractError:
                continue  # the server is away: nothing is known, so the work goes on
            except Exception:
                logger.exception("keeper failed")
                continue
            if not is_held:
                self._lost = lease


@dataclass
class Held:
    """What a child has in hand, as its parent sees it."""

    lease: Lease
    process: str
    since: float
    renewed_at: float
    lost_at: float | None = None


class ParentKeeper:
    """Renews the leases of all children and kills those that do not let go. Says that the worker is alive."""

    def __init__(self, store: Engine, dispatcher: Dispatcher, family: Family, name: str) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._family = family
        self._name = name
        self._held: dict[int, Held] = {}
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
            for pid, lease in self._family.wait_for_reports(tick(settings)):
                heard_at = now = time.monotonic()
                self._held.pop(pid, None)
                if lease is not None:
                    self._held[pid] = Held(lease, identity(pid), since=now, renewed_at=now)
            try:
                for pid, held in list(self._held.items()):
                    self._look_after(pid, held)
                if time.monotonic() >= beats_at:
                    self._store.workers.beat(self._name)
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

    def _look_after(self, pid: int, held: Held) -> None:
        settings = self._store.settings
        now = time.monotonic()
        if is_dead_here(held.process):
            del self._held[pid]
            n_messages = self._store.units.release(held.lease, dead=True)
            self._dispatcher.send(held.lease.tenant, held.lease.fit_id, n_messages)
        elif now - held.since > settings.unit_seconds + settings.kill_seconds:
            with suppress(LeaseLost):
                n_messages = self._store.units.fail(held.lease, out_of_time(settings.unit_seconds))
                self._dispatcher.send(held.lease.tenant, held.lease.fit_id, n_messages)
            self._kill(pid, held, "out of time")
        elif held.lost_at is not None and now - held.lost_at > settings.kill_seconds:
            self._kill(pid, held, "no longer wanted")
        elif held.lost_at is None and now - held.renewed_at >= settings.renew_seconds:
            held.renewed_at = now
            if not self._store.units.renew(held.lease):
                held.lost_at = now

    def _kill(self, pid: int, held: Held, reason: str) -> None:
        logger.warning("killed", extra={"fit_id": held.lease.fit_id, "unit": held.lease.unit, "reason": reason})
        del self._held[pid]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def tick(settings: Settings) -> float:
    """How often a parent looks after its children, even when they say nothing."""
    return min(settings.renew_seconds / 5, settings.cancel_poll_seconds)
