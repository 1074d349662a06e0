"""Runs tasks in parallel processes and keeps every result, so that a run that was ended goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from threading import Thread

from tqdm import tqdm

from bench.paper import data_sets
from bench.paper.tasks import Result, Task

PROTOCOLS = {f"bench.paper.{name}" for name in ("data_sets", "fold_scores", "paper_like", "strict", "tasks")}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "finufft")


class Failed(Exception):
    """A task could not be done."""


def run_tasks(tasks: Sequence[Task], data: Path, results: Path, n_processes: int) -> dict[Task, Result]:
    """The result of every task: read where it is kept in the folder `results`, worked out and kept where not."""
    places = {task: results / f"{_key(task, data)}.json" for task in tasks}
    missing = [task for task in tasks if not places[task].exists()]
    if missing:
        results.mkdir(parents=True, exist_ok=True)
        _run_in_processes({task: places[task] for task in missing}, data, n_processes, len(tasks))
    return {task: json.loads(place.read_text()) for task, place in places.items()}


def _run_in_processes(places: Mapping[Task, Path], data: Path, n_processes: int, n_tasks: int) -> None:
    # Fresh processes: a fork would share the state of numerical libraries, and with it their results.
    pool = ProcessPoolExecutor(n_processes, mp_context=get_context("spawn"), initializer=_follow_parent)
    try:
        futures = {pool.submit(_run, task, data): task for task in places}
        done = n_tasks - len(places)
        for future in tqdm(as_completed(futures), "paper", n_tasks, initial=done, unit="task", dynamic_ncols=True):
            task = futures[future]
            if error := future.exception():
                raise Failed(f"{task.describe()}: {type(error).__name__}: {error}") from error
            _keep(places[task], future.result())
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """A process of the pool ends when the run does, even when that is killed; Ctrl-C is for the run to answer."""
    signal(SIGINT, SIG_IGN)

    def watch() -> None:
        run = parent_process()
        if run is not None:
            run.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


def _run(task: Task, data: Path) -> Result:
    return task.run(data_sets.load(data, task.data_set))


def _keep(place: Path, result: Result) -> None:
    """Write the whole result or nothing: a half-written file would be taken for a result."""
    unfinished = place.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(place)


def _key(task: Task, data: Path) -> str:
    """Equal for equal tasks on equal data by equal code."""
    text = json.dumps([task.describe(), _hash(data / f"{task.data_set}.csv"), _code()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _code() -> dict[str, str]:
    """What results depend on: the versions of libraries, and the sources of this one and of the protocols."""
    sources = sorted(name for name in sys.modules if name in PROTOCOLS or name.split(".")[0] == "melm")
    hashes = {name: _hash(Path(str(sys.modules[name].__file__))) for name in sources}
    return hashes | {library: version(library) for library in LIBRARIES}


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
