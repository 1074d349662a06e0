"""The reconciler: recovers the work of dead workers and of lost messages.

It runs as a thread in every API process and in the parent process of every worker, so it needs no process of its own.
Its work is idempotent; a lock only avoids that several reconcilers do it at the same time.
"""

from __future__ import annotations

import logging
import threading
import time

from worker.engine.dispatch import Dispatcher
from worker.engine.engine import Engine
from worker.engine.units import Released
from worker.store.errors import ContractError
from worker.store.process import is_dead_here

logger = logging.getLogger(__name__)


class Reconciler:
    """Sweeps every `sweep_seconds`."""

    def __init__(self, store: Engine, dispatcher: Dispatcher) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reconciler", daemon=True)
        self._in_touch_since = time.monotonic()
        self._last_touch = time.monotonic()
        self._has_adopted = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join()

    def sweep(self) -> int:
        """Sweep once; returns the number of messages sent."""
        judge_leases = self._may_judge_leases()
        if not self._has_adopted:
            self._store.units.adopt_earlier()
            self._has_adopted = True
        n_messages = self._release_dead() + self._store.units.sweep(judge_leases=judge_leases)
        self._store.expiry.sweep()
        self._dispatcher.send(n_messages)
        return n_messages

    def _run(self) -> None:
        while not self._stop.wait(self._store.settings.sweep_seconds):
            try:
                self.sweep()
            except ContractError as error:
                self._last_touch = float("-inf")
                logger.warning("sweep interrupted", extra={"reason": str(error)})
            except Exception:
                logger.exception("sweep failed")

    def _may_judge_leases(self) -> bool:
        """Whether an expired lease means a lost worker. Not after an outage of the store: no lease could be renewed."""
        settings = self._store.settings
        self._store.ping()
        now = time.monotonic()
        if now - self._last_touch > 2 * settings.sweep_seconds + settings.store_timeout_seconds:
            self._in_touch_since = now
        self._last_touch = now
        return now - self._in_touch_since >= settings.lease_seconds

    def _release_dead(self) -> int:
        """Release the leases of dead processes of this host at once, without waiting for the lease timeout."""
        n_messages = 0
        for lease in self._store.units.leases():
            if is_dead_here(lease.process):
                logger.warning("worker process lost", extra={"fit_id": lease.fit_id, "unit": lease.unit})
                n_messages += self._store.units.settle(lease, Released(dead=True))
        return n_messages
