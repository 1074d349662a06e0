"""Random faults for a settable time: nothing is lost.

CHAOS_SECONDS says for how long, half an hour unless told; CHAOS_SEED repeats a run's choices.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from tests.faults.deployment import TENANT, Deployment, deployment, kill
from tests.servers import WorkerProcess
from worker.contract.dispatch import BROKER_PREFIX
from worker.contract.errors import StoreUnavailable, TooManyFits
from worker.contract.records import FitRecord

SECONDS = float(os.environ.get("CHAOS_SECONDS", "1800"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 2**32))
N_WORKERS = 2
T = TypeVar("T")


class Chaos:
    """Faults, one after the other."""

    def __init__(self, deployed: Deployment, workers: list[WorkerProcess]) -> None:
        self._deployed, self._workers = deployed, workers
        self._random = np.random.default_rng(SEED)
        self.faults: dict[str, int] = {}

    def strike(self) -> None:
        """Do one thing that should not matter."""
        fault = self._choose(
            [
                self.kill_child,
                self.kill_child,
                self.kill_worker,
                self.kill_parent,
                self.terminate_worker,
                self.freeze_worker,
                self.kill_server,
                self.freeze_server,
                self.drop_connections,
                self.delete_broker_keys,
            ]
        )
        self.faults[fault.__name__] = self.faults.get(fault.__name__, 0) + 1
        fault()

    def pause(self, longest_seconds: float) -> None:
        """Let some time pass."""
        time.sleep(self._random.uniform(0, longest_seconds))

    def _choose(self, choices: Sequence[T]) -> T:
        return choices[int(self._random.integers(len(choices)))]

    def kill_child(self) -> None:
        children = self._choose(self._workers).children()
        if children:
            with suppress(ProcessLookupError):
                kill(self._choose(children))

    def kill_worker(self) -> None:
        worker = self._choose(self._workers)
        worker.kill()
        worker.start()

    def kill_parent(self) -> None:
        worker = self._choose(self._workers)
        os.kill(worker.pid, signal.SIGKILL)
        worker.process.wait()
        worker.start()

    def terminate_worker(self) -> None:
        worker = self._choose(self._workers)
        worker.terminate()
        worker.start()

    def freeze_worker(self) -> None:
        worker = self._choose(self._workers)
        worker.send(signal.SIGSTOP)
        self.pause(3)
        worker.send(signal.SIGCONT)

    def kill_server(self) -> None:
        self._deployed.server.kill()
        self.pause(2)
        self._deployed.server.start()

    def freeze_server(self) -> None:
        process = self._deployed.server.process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        self.pause(3)
        process.send_signal(signal.SIGCONT)

    def drop_connections(self) -> None:
        self._deployed.server.client.client_kill_filter(_type="normal", skipme=True)

    def delete_broker_keys(self) -> None:
        client = self._deployed.server.client
        for key in client.scan_iter(f"{BROKER_PREFIX}*"):
            client.delete(key)


@pytest.mark.faults
def test_random_faults_lose_nothing(tmp_path: Path) -> None:
    with deployment(tmp_path, max_attempts=1000, store_timeout_seconds=1.0) as deployed, ExitStack() as stack:
        workers = [stack.enter_context(deployed.worker()) for _ in range(N_WORKERS)]
        chaos = Chaos(deployed, workers)
        acknowledged: list[FitRecord] = []
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at:
            with suppress(StoreUnavailable, TooManyFits):
                for _ in range(3):
                    acknowledged.append(deployed.submit(n_starts=4, seconds=0.05, seed=len(acknowledged)))
            chaos.strike()
            chaos.pause(1)
        for fit in acknowledged:
            deployed.wait_for_end(fit, 300)
            deployed.assert_whole(fit)
        print(f"seed {SEED}: {len(acknowledged)} fits, {sum(chaos.faults.values())} faults, {chaos.faults}")
        assert deployed.store.units.leases(TENANT) == []
