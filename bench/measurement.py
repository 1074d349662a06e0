"""One measured figure, and how to take it on a noisy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Measurement:
    """What was measured, what came out, and what it should be at the most or at the least."""

    name: str
    value: float
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Is the target met?"""
        above = self.at_most is None or self.value <= self.at_most
        return above and (self.at_least is None or self.value >= self.at_least)


def best_seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs: what disturbs a run only ever makes it longer."""
    shortest = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def median_seconds(*runs: Callable[[], object], repeats: int = 5) -> list[float]:
    """The median time of each of several rivals, who take turns: what disturbs the machine disturbs all of them."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, taken in zip(runs, seconds, strict=True):
            taken.append(best_seconds(run, 1))
    return [median(taken) for taken in seconds]


def peak_bytes() -> int:
    """The most memory that this process has held. (What `getrusage` tells begins with that of the parent process.)"""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
