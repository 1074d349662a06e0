"""Prometheus metrics: requests counted by this service's processes, fits by the workers, in the store.

With several API processes, `PROMETHEUS_MULTIPROC_DIR` names a directory where they keep their counts together.
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
    """Let the processes that this one starts count together, in a folder that is there as long as this process."""
    remove_left_behind(Path(tempfile.gettempdir()))
    if n_processes == 1:
        yield
        return
    owner = identity(os.getpid()).replace("/", "-")
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}-{owner}-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def shared_folder() -> Path | None:
    """That folder; None where a process is alone."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return None if folder is None else Path(folder)


def remove_left_behind(root: Path) -> None:
    """Remove the folders of processes that were killed. Whose folder it is stands in its name."""
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
            "melm_request_seconds", "Time to answer.", ["method", "route"], registry=own, buckets=SECONDS
        )
        self.payload_bytes = Counter(
            "melm_payload_bytes", "Bytes of bodies.", ["direction", "media_type"], registry=own
        )
        self._store = StoreCollector(pulse)
        self._own = own
        self.request_counter = cache(self.requests.labels)  # finding a labeled child costs more than counting
        self.request_timer = cache(self.request_seconds.labels)
        self._payload_counter = cache(self.payload_bytes.labels)

    def count_payload(self, direction: str, media_type: str, n_bytes: int) -> None:
        """Count a body that came in or went out."""
        self._payload_counter(direction, media_type).inc(n_bytes)

    def render(self) -> bytes:
        """The text that Prometheus reads, over all processes."""
        registry = self._own
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        stored = CollectorRegistry()
        stored.register(self._store)
        return generate_latest(registry) + generate_latest(stored)


class StoreCollector(Collector):
    """What workers counted, and how much waits for them."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse

    def collect(self) -> Iterable[Metric]:
        """What the store said last."""
        counts, health = self._pulse.counters(), self._pulse.health()
        fits = CounterMetricFamily("melm_fits", "Fits that came to a status.", labels=["status"])
        for name, value in counts.items():
            if name.startswith("fits_total:"):
                fits.add_metric([name.removeprefix("fits_total:")], value)
        yield fits
        yield CounterMetricFamily(
            "melm_recoveries", "Units taken over from a lost worker.", counts.get("recoveries_total", 0.0)
        )
        yield histogram("melm_fit_seconds", "From submission to the end of a fit.", "fit_seconds", counts)
        yield histogram("melm_start_seconds", "Time of one start.", "start_seconds", counts)
        yield GaugeMetricFamily("melm_queued_fits", "Fits that nobody has begun.", health.queued_fits)
        yield GaugeMetricFamily("melm_active_fits", "Fits that have not ended.", health.active_fits)
        yield GaugeMetricFamily("melm_workers", "Workers with a fresh heartbeat.", len(health.workers))


def histogram(name: str, documentation: str, prefix: str, counts: dict[str, float]) -> HistogramMetricFamily:
    """A histogram out of stored counters."""
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
