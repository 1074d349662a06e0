"""Random faults for a settable time: nothing is lost.

CHAOS_SECONDS says for how long, half an hour unless told; CHAOS_SEED repeats a run's choices.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx2
import numpy as np
import pytest

from tests.faults.deployment import TENANT, Deployment, deployment, kill
from tests.servers import wait_until
from tests.service.api import Api, free_port
from worker.engine.dispatch import BROKER_PREFIX, QUEUE
from worker.store.errors import Conflict, ContractError

SECONDS = float(os.environ.get("CHAOS_SECONDS", "1800"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 2**32))
PAUSE_SECONDS = 0.2  # of the client, between two fits
LONG_EVERY = 15  # so many fits there is a long one
LOST_EVERY = 10  # so many fits an answer is lost on its way to the client
T = TypeVar("T")


class Chaos:
    """Two workers, one with a clock that is off, and an API, to which one fault happens after the other."""

    def __init__(self, deployed: Deployment, stack: ExitStack) -> None:
        late = {"CLOCK_OFFSET_SECONDS": "3600"}
        self._deployed, self._stack = deployed, stack
        self._workers = [
            stack.enter_context(deployed.worker()),
            stack.enter_context(deployed.worker(module="tests.faults.skewed_worker", environment=late)),
        ]
        self._port = free_port()
        self.api = self._start_api()
        self._random = np.random.default_rng(SEED)
        self.faults: Counter[str] = Counter()

    def strike(self) -> None:
        """Do one thing that should not matter."""
        fault = self._choose(
            [
                self.kill_child,
                self.kill_worker,
                self.kill_parent,
                self.terminate_worker,
                self.freeze_worker,
                self.kill_api,
                self.kill_server,
                self.freeze_server,
                self.fill_server,
                self.drop_connections,
                self.delete_broker_keys,
                self.lose_a_message,
                self.double_messages,
                self.cancel_and_retry,
            ]
        )
        self.faults[fault.__name__] += 1
        fault()
        self._deployed.fault()

    def pause(self, longest_seconds: float) -> None:
        """Let some time pass."""
        time.sleep(self._random.uniform(0, longest_seconds))

    def _choose(self, choices: Sequence[T]) -> T:
        return choices[int(self._random.integers(len(choices)))]

    def _start_api(self) -> Api:
        return self._stack.enter_context(self._deployed.api(port=self._port))

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
        kill(worker.pid)
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

    def kill_api(self) -> None:
        self.api.process.kill()
        self.api.process.wait()
        self.api = self._start_api()

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

    def fill_server(self) -> None:
        client = self._deployed.server.client
        client.config_set("maxmemory", client.info("memory")["used_memory"])
        self.pause(3)
        client.config_set("maxmemory", 0)

    def drop_connections(self) -> None:
        self._deployed.server.client.client_kill_filter(_type="normal", skipme=True)

    def delete_broker_keys(self) -> None:
        client = self._deployed.server.client
        for key in client.scan_iter(f"{BROKER_PREFIX}*"):
            client.delete(key)

    def lose_a_message(self) -> None:
        self._deployed.server.client.lpop(BROKER_PREFIX + QUEUE)

    def double_messages(self) -> None:
        if self._deployed.fits:
            self._deployed.dispatcher.send(10)

    def cancel_and_retry(self) -> None:
        if self._deployed.fits:
            fit = self._deployed.fits[-1]
            with suppress(Conflict):  # it had ended before
                self._deployed.store.fits.cancel(TENANT, fit.id)
                self._deployed.store.fits.retry(TENANT, fit.id)
                self._deployed.dispatcher.send()


def submit_until(stop: threading.Event, deployed: Deployment, url: str) -> int:
    """A client as it should be: it asks again, under the same key, until it has an answer.

    Most fits are short. Some go on for so long that a worker whose lease has ended finds them active when it is back.
    Tells how many fits it wanted.
    """
    lost: set[str] = set()  # keys of which an answer did not reach the client
    n_wanted = 0
    with httpx2.Client(base_url=url, timeout=10) as client:

        def is_acknowledged(key: str) -> bool:
            time.sleep(PAUSE_SECONDS)
            n_starts, seconds = (30, 0.2) if n_wanted % LONG_EVERY == 0 else (4, 0.05)
            with suppress(httpx2.TransportError, ContractError):
                answer = deployed.post(client, key=key, n_starts=n_starts, seconds=seconds, seed=n_wanted)
                assert answer.status_code in (200, 202, 409, 429, 503), answer.text
                if n_wanted % LOST_EVERY or key in lost:
                    return answer.is_success
                lost.add(key)
            return False

        while not stop.is_set():
            wait_until(partial(is_acknowledged, uuid.uuid4().hex), 300)
            n_wanted += 1
    return n_wanted


@pytest.mark.faults
@pytest.mark.once
@pytest.mark.scenario(25, f"random faults for {SECONDS:g} s")
def test_random_faults_lose_nothing(tmp_path: Path) -> None:
    with (
        deployment(tmp_path, max_attempts=1000, store_timeout_seconds=1.0) as deployed,
        ExitStack() as stack,
        ThreadPoolExecutor() as pool,
    ):
        chaos = Chaos(deployed, stack)
        stop = threading.Event()
        client = pool.submit(submit_until, stop, deployed, chaos.api.url)
        ends_at = time.monotonic() + SECONDS
        try:
            while time.monotonic() < ends_at and not client.done():
                chaos.strike()
                chaos.pause(1)
        finally:
            stop.set()
        n_wanted = client.result()
        for fit in deployed.fits:
            deployed.wait_for_end(fit, 300)
        deployed.assert_whole(*deployed.fits)
        print(f"seed {SEED}: {len(deployed.fits)} fits, {chaos.faults.total()} faults, {dict(chaos.faults)}")
        assert deployed.store.units.leases() == []
        assert deployed.server.client.zcard(f"melm:{{{TENANT}}}:fits") == n_wanted
