"""A tenant who goes on predicting while another one attacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import httpx2
import numpy as np

WORST_RATIO = 5  # of the p99 under attack to the quiet one
N_QUIET = 300
PAUSE_SECONDS = 0.005
ROW = {"X": [[5.0, 3.0, 4.0, 1.0]]}


@dataclass
class Seen:
    """What the bystander saw during an attack."""

    quiet_p99: float
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The p99 under attack, in quiet p99s."""
        return float(np.percentile(self.seconds, 99)) / self.quiet_p99


class Bystander:
    """Asks for one prediction after the other; demanding ones mind how long they take."""

    def __init__(self, url: str, key: str, model_id: str, *, demanding: bool) -> None:
        self._url, self._key, self._path = url, key, f"/v1/models/{model_id}/predict"
        self._demanding = demanding

    @contextmanager
    def watching(self) -> Iterator[Seen]:
        """Ask while the block runs; every prediction has to come."""
        with self._client() as client:
            seen = Seen(float(np.percentile([self._ask(client) for _ in range(N_QUIET)], 99)))
        is_over = Event()
        thread = Thread(target=self._go_on, args=(seen, is_over))
        thread.start()
        try:
            yield seen
        finally:
            is_over.set()
            thread.join()
        assert not seen.failures, seen.failures[:3]
        assert seen.seconds
        assert not self._demanding or seen.ratio <= WORST_RATIO, f"{seen.ratio:.1f} times the quiet p99"

    def _client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self._url, headers={"Authorization": f"Bearer {self._key}"}, timeout=60)

    def _ask(self, client: httpx2.Client) -> float:
        began = time.perf_counter()
        response = client.post(self._path, json=ROW)
        assert response.status_code == 200, response.text
        return time.perf_counter() - began

    def _go_on(self, seen: Seen, is_over: Event) -> None:
        while not is_over.wait(PAUSE_SECONDS):
            try:
                with self._client() as client:  # a new connection, so that getting one is part of it
                    for _ in range(10):
                        seen.seconds.append(self._ask(client))
            except (AssertionError, httpx2.TransportError) as failure:
                seen.failures.append(repr(failure))
