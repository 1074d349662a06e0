"""The way of a fit through the code: `python -m bench.walk` counts the files and writes the numbers in ARCHITECTURE.md.

A real API and a real worker are traced while a dataset is uploaded, fitted and used for a prediction. A Python file
counts when one of its functions runs then, other than for an import; a Lua file counts when it is read. Sweeps and the
renewal of leases, which run in threads beside, do not count.
"""

from __future__ import annotations

import os
import re
import runpy
import signal
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from tests.servers import ROOT, redis_server, wait_until, worker_process
from tests.service.api import api_process

PAGE = ROOT / "ARCHITECTURE.md"
SENTENCE = re.compile(r"passes \d+ Python files and \d+ Lua files: \d+ in `service/`, \d+ in `worker/`, \d+ in `melm/`")
BEGIN = signal.SIGRTMIN  # Celery uses the named ones
PACKAGES = ("service", "worker", "melm")
BACKGROUND = ("keeper", "reconciler")  # names of threads
TRACED, FOLDER = "WALK_TRACED", "WALK_FOLDER"  # variables: the module that a process runs, and where it writes


def trace(folder: Path) -> None:
    """Write the names of files that this process and its children pass: of Python from the signal `BEGIN` on."""
    seen: set[str] = set()
    parts = tuple(f"{ROOT / package}/" for package in PACKAGES)

    def note(path: str) -> None:
        seen.add(path)
        with (folder / f"{os.getpid()}").open("a") as names:
            names.write(f"{Path(path).relative_to(ROOT)}\n")

    def on_call(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if path in seen or event != "call":
            return
        if not path.startswith(parts):
            seen.add(path)
        elif threading.current_thread().name not in BACKGROUND and not importing(frame):
            note(path)

    def on_event(event: str, arguments: tuple[Any, ...]) -> None:
        path = str(arguments[0]) if event == "open" else ""
        if path.endswith(".lua") and path not in seen and threading.current_thread().name not in BACKGROUND:
            note(path)

    def begin(number: int, frame: FrameType | None) -> None:
        (folder / f"{os.getpid()}").touch()
        threading.setprofile(on_call)
        sys.setprofile(on_call)

    sys.addaudithook(on_event)
    signal.signal(BEGIN, begin)


def importing(frame: FrameType | None) -> bool:
    """Whether a frame runs while a module is imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def walk() -> set[str]:
    """The files that a fit passes, from the upload of a dataset to a prediction."""
    with tempfile.TemporaryDirectory() as name, redis_server(Path(name) / "redis") as server:
        folder = Path(name) / "walk"
        folder.mkdir()
        log = Path(name) / "log"

        def environment(module: str) -> dict[str, str]:
            return {TRACED: module, FOLDER: str(folder)}

        with (
            worker_process(
                server.url, log, module="bench.walk", environment=environment("worker"), worker_processes=1
            ) as worker,
            api_process(server.url, log, module="bench.walk", environment=environment("service")) as api,
            api.client() as client,
        ):
            for pid in (api.process.pid, *worker.children()):
                os.kill(pid, BEGIN)
                wait_until((folder / f"{pid}").exists)
            rows = [[float(i % 7), float(i % 5), float(i // 30)] for i in range(60)]
            labels = ["a"] * 30 + ["b"] * 30
            dataset = client.post("/v1/datasets", json={"X": rows, "y": labels}).raise_for_status().json()
            fit = client.post("/v1/fits", json={"dataset_id": dataset["id"]}, headers={"Prefer": "wait=60"}).json()
            client.post(f"/v1/models/{fit['model_id']}/predict", json={"X": rows}).raise_for_status()
            return {line for path in folder.iterdir() for line in path.read_text().splitlines()}


def sentence(names: set[str]) -> str:
    """The numbers, as the page states them."""
    python = [name for name in names if name.endswith(".py")]
    of = Counter(name.split("/")[0] for name in python)
    packages = ", ".join(f"{of[package]} in `{package}/`" for package in PACKAGES)
    return f"passes {len(python)} Python files and {len(names) - len(python)} Lua files: {packages}"


def main() -> None:
    """Count, print the files, and write the numbers."""
    names = walk()
    print(*sorted(names), sentence(names), sep="\n")
    PAGE.write_text(SENTENCE.sub(sentence(names), PAGE.read_text()))


if __name__ == "__main__":
    if TRACED in os.environ:
        trace(Path(os.environ[FOLDER]))
        runpy.run_module(os.environ[TRACED], run_name="__main__", alter_sys=True)
    else:
        main()
