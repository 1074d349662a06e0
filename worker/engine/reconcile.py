"""The reconciler: finds what a dead worker or a lost message left behind, and puts it back.

It runs as a thread in every API process and every worker's parent process, so that it needs no process of its own. All
it does is idempotent; a lock only keeps several of them from doing it at the same moment.
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
        """Begin to sweep in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Sweep no more."""
        self._stop.set()
        self._thread.join()

    def sweep(self) -> int:
        """Look once; answers how many messages were sent."""
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
                logger.warning("sweep broke off", extra={"reason": str(error)})
            except Exception:
                logger.exception("sweep failed")

    def _may_judge_leases(self) -> bool:
        """Whether an overdue lease means a lost worker. Not while the server was away: nobody could renew then."""
        settings = self._store.settings
        self._store.ping()
        now = time.monotonic()
        if now - self._last_touch > 2 * settings.sweep_seconds + settings.store_timeout_seconds:
            self._in_touch_since = now
        self._last_touch = now
        return now - self._in_touch_since >= settings.lease_seconds

    def _release_dead(self) -> int:
        """Take units from dead processes of this host at once, without waiting for their leases to end."""
        n_messages = 0
        for lease in self._store.units.leases():
            if is_dead_here(lease.process):
                logger.warning("worker process lost", extra={"fit_id": lease.fit_id, "unit": lease.unit})
                n_messages += self._store.units.settle(lease, Released(dead=True))
        return n_messages
