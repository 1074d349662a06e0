"""A worker that kills its own process just before or after it claims or completes a unit, at every third such moment.

The environment says at which point (CRASH_AT) and in which folder the kills are counted (KILLS); after ten it stops.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.worker.stand_in import StandIn
from worker.app import run_worker
from worker.contract.settings import Settings
from worker.contract.store import Units

WHEN, METHOD = os.environ["CRASH_AT"].split()
KILLS = Path(os.environ["KILLS"])
N_KILLS = 10


def first_free(kind: str) -> int:
    """Count one more of a kind, over all processes."""
    number = 1
    while True:
        try:
            (KILLS / f"{kind} {number}").touch(exist_ok=False)
            return number
        except FileExistsError:
            number += 1


def perhaps_die() -> None:
    if first_free("moment") % 3 == 0 and first_free("kill") <= N_KILLS:
        os.kill(os.getpid(), signal.SIGKILL)


def dying(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if WHEN == "before":
            perhaps_die()
        answer = method(*args, **kwargs)
        if WHEN == "after":
            perhaps_die()
        return answer

    return call


if __name__ == "__main__":
    setattr(Units, METHOD, dying(getattr(Units, METHOD)))
    run_worker(Settings.from_environment(os.environ), StandIn())
