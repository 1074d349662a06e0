"""Prometheus metrics: requests are counted by the API processes, fits by the workers, in the store.

Several API processes share their counts in the directory `PROMETHEUS_MULTIPROC_DIR`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from service.operation.pulse import Pulse
from worker.store.process import identity, is_dead_here

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

FOLDER = "melm-metrics"


@contextmanager
def shared_by(n_processes: int) -> Iterator[None]:
    """Let child processes share their counts, in a folder that is removed when this process ends."""
    remove_left_behind(Path(tempfile.gettempdir()))
    if n_processes == 1:
        yield
        return
    owner = identity(os.getpid()).replace("/", "-")
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}-{owner}-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def shared_folder() -> Path | None:
    """The shared folder; None for a single process."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return None if folder is None else Path(folder)


def remove_left_behind(root: Path) -> None:
    """Remove the folders of processes that were killed. Each has the identity of its process in its name."""
    for folder in root.glob(f"{FOLDER}-*-*-*-*"):
        owner = "/".join(folder.name.removeprefix(f"{FOLDER}-").split("-")[:3])
        if is_dead_here(owner):
            shutil.rmtree(folder, ignore_errors=True)


class Metrics:
    """The metrics of one application."""

    def __init__(self, pulse: Pulse) -> None:
        own = CollectorRegistry()
        self.requests = Counter("melm_requests", "Answered requests.", ["method", "route", "status"], registry=own)
        self.request_seconds = Histogram(
            "melm_request_seconds", "Response time.", ["method", "route"], registry=own, buckets=SECONDS
        )
        self.payload_bytes = Counter(
            "melm_payload_bytes", "Bytes of request and response bodies.", ["direction", "media_type"], registry=own
        )
        self._store = StoreCollector(pulse)
        self._own = own
        self.request_counter = cache(self.requests.labels)  # the lookup of labels costs more than counting
        self.request_timer = cache(self.request_seconds.labels)
        self._payload_counter = cache(self.payload_bytes.labels)

    def count_payload(self, direction: str, media_type: str, n_bytes: int) -> None:
        """Count the bytes of a request (`in`) or response (`out`)."""
        self._payload_counter(direction, media_type).inc(n_bytes)

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus, over all processes."""
        registry = self._own
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        stored = CollectorRegistry()
        stored.register(self._store)
        return generate_latest(registry) + generate_latest(stored)


class StoreCollector(Collector):
    """Metrics from the store: the counts of workers, and the length of queues."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse

    def collect(self) -> Iterable[Metric]:
        """The last known values."""
        counts, health = self._pulse.counters(), self._pulse.health()
        fits = CounterMetricFamily("melm_fits", "Fits by the status in which they ended.", labels=["status"])
        for name, value in counts.items():
            if name.startswith("fits_total:"):
                fits.add_metric([name.removeprefix("fits_total:")], value)
        yield fits
        yield CounterMetricFamily(
            "melm_recoveries", "Units taken over from a lost worker.", counts.get("recoveries_total", 0.0)
        )
        yield histogram("melm_fit_seconds", "Time from the submission to the end of a fit.", "fit_seconds", counts)
        yield histogram("melm_start_seconds", "Time of one start.", "start_seconds", counts)
        yield GaugeMetricFamily("melm_queued_fits", "Fits that no worker has begun.", health.queued_fits)
        yield GaugeMetricFamily("melm_active_fits", "Fits that have not ended.", health.active_fits)
        yield GaugeMetricFamily("melm_workers", "Workers with a recent heartbeat.", len(health.workers))


def histogram(name: str, documentation: str, prefix: str, counts: dict[str, float]) -> HistogramMetricFamily:
    """A histogram from stored counters."""
    metric = HistogramMetricFamily(name, documentation)
    metric.add_metric([], list(buckets(prefix, counts)), counts.get(f"{prefix}_sum", 0.0))
    return metric


def buckets(prefix: str, counts: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Cumulative buckets in ascending order, the unbounded one last."""
    start = f"{prefix}_bucket:"
    bounds = sorted(
        (float(name.removeprefix(start)), count) for name, count in counts.items() if name.startswith(start)
    )
    yield from ((f"{bound:g}", count) for bound, count in bounds if bound != float("inf"))
    yield "+Inf", counts.get(f"{prefix}_count", 0.0)
