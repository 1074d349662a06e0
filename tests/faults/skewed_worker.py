"""A worker whose clock is off by CLOCK_OFFSET_SECONDS."""

from __future__ import annotations

import os
import time

OFFSET = float(os.environ["CLOCK_OFFSET_SECONDS"])
true_time, true_time_ns = time.time, time.time_ns
time.time = lambda: true_time() + OFFSET
time.time_ns = lambda: true_time_ns() + round(OFFSET * 1e9)

from tests.worker.stand_in import StandIn  # noqa: E402
from worker.app import run_worker  # noqa: E402
from worker.store.settings import Settings  # noqa: E402

if __name__ == "__main__":
    run_worker(Settings.from_environment(os.environ), StandIn())
