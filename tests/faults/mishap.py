"""Mishaps at an exact moment: a process hits itself just before or after it does a certain thing.

A signal, `HANG` for a thread that stands still, or `LOSE` for an answer of the store that does not arrive. The
environment says what and when (`MISHAP="SIGKILL before claim"`), whether at each such moment or at every third one
(`MISHAP_EVERY=3`), how often at most (`MISHAP_TIMES`), and in which folder all processes count (`MISHAP_FOLDER`).
`python -m tests.faults.mishap` runs a worker of the stand-in that mishaps happen to.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kombu.transport.redis import QoS

from tests.worker.stand_in import StandIn
from worker.app import run_worker
from worker.engine.dispatch import CeleryDispatcher
from worker.engine.units import Done, Opened, Published, Units
from worker.store.errors import StoreUnavailable
from worker.store.settings import Settings

# A moment is a call of a method; the steps of a unit are told apart by the outcome that `next` hands in.
MOMENTS: dict[str, tuple[type, str, tuple[type, ...]]] = {
    "claim": (Units, "next", (type(None),)),
    "complete": (Units, "next", (Done,)),
    "open_stage": (Units, "next", (Opened,)),
    "publish": (Units, "next", (Published,)),
    "sweep": (Units, "sweep", ()),
    "send": (CeleryDispatcher, "send", ()),
    "note": (QoS, "append", ()),  # a message that was taken off the list is noted as taken
}


def first_free(folder: Path, kind: str) -> int:
    """Count one more of a kind, over all processes."""
    number = 1
    while True:
        try:
            with (folder / f"{kind} {number}").open("x") as file:
                file.write(str(time.monotonic()))
            return number
        except FileExistsError:
            number += 1


def arm(environment: Mapping[str, str]) -> None:
    """Let the mishap of the environment happen in this process and those it forks; none where there is none."""
    if "MISHAP" not in environment:
        return
    what, when, moment = environment["MISHAP"].split()
    folder = Path(environment["MISHAP_FOLDER"])
    every, times = int(environment["MISHAP_EVERY"]), int(environment["MISHAP_TIMES"])
    owner, name, outcomes = MOMENTS[moment]
    method: Callable[..., Any] = getattr(owner, name)

    def perhaps() -> None:
        if first_free(folder, "moment") % every == 0 and first_free(folder, "mishap") <= times:
            if what == "LOSE":
                raise StoreUnavailable("The answer was lost.")
            if what == "HANG":
                threading.Event().wait()
            os.kill(os.getpid(), signal.Signals[what])

    def call(*args: Any, **kwargs: Any) -> Any:
        is_moment = not outcomes or isinstance(args[3] if len(args) > 3 else None, outcomes)
        if is_moment and when == "before":
            perhaps()
        answer = method(*args, **kwargs)
        if is_moment and when == "after":
            perhaps()
        return answer

    setattr(owner, name, call)


if __name__ == "__main__":
    arm(os.environ)
    run_worker(Settings.from_environment(os.environ), StandIn())
