"""`make load`: the service under load for a while: one API process, two worker processes, many connections.

Fails when a request or a fit fails, or when the memory of API or worker grows by more than a tenth after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from bench.traffic import N_FEATURES
from tests.servers import ROOT, WorkerProcess, children_of, redis_server, worker_process
from tests.service.api import Api, api_process

MAX_GROWTH = 0.10
ANSWER_SECONDS = 60  # a request without an answer until then is lost
DRAIN_SECONDS = 60


def main() -> int:
    """Load a service and say how it did; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long is measured (%(default)g)")
    parser.add_argument("--warm-up", type=float, default=30, help="seconds before that (%(default)g)")
    parser.add_argument("--connections", type=int, default=64, help="clients at once (%(default)s)")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        redis_server(Path(name) / "redis") as server,
        worker_process(server.url, Path(name) / "worker.log", worker_processes=2) as worker,
        api_process(server.url, Path(name) / "api.log") as api,
        httpx2.Client(base_url=api.url, timeout=70) as client,
    ):
        dataset_id, model_id = prepare(client)
        traffic = [sys.executable, "-m", "bench.traffic", api.url, model_id, dataset_id]
        traffic += ["--connections", str(options.connections)]
        warm_up = ask(traffic, options.warm_up)
        before = memory(api, worker)
        measured = ask(traffic, options.seconds)
        after = memory(api, worker)
        failures = [*problems(client, warm_up), *problems(client, measured), *growth(before, after)]
    report(measured, before, after)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


def prepare(client: httpx2.Client) -> tuple[str, str]:
    """A dataset to fit, and a model of it to ask."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, N_FEATURES))
    body = {"X": X.tolist(), "y": (X[:, 0] + 0.3 * rng.standard_normal(200) > 0).tolist()}
    dataset_id = client.post("/v1/datasets", json=body).raise_for_status().json()["id"]
    ask = {"dataset_id": dataset_id, "params": {"regularization": None, "n_starts": 2}, "validation": None}
    fit = client.post("/v1/fits", json=ask, headers={"Prefer": "wait=60"}).raise_for_status().json()
    return str(dataset_id), str(fit["model_id"])


def ask(traffic: list[str], seconds: float) -> dict[str, Any]:
    """What the generator tells."""
    command = [*traffic, "--seconds", str(seconds)]
    patience = seconds + ANSWER_SECONDS
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=patience)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def memory(api: Api, worker: WorkerProcess) -> dict[str, float]:
    """What API and worker take, in MiB."""
    families = {"API": [api.process.pid], "worker": [worker.pid]}
    return {name: sum(map(resident, [*pids, *children_of(pids[0])])) for name, pids in families.items()}


def resident(pid: int) -> float:
    """What a process takes, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024


def problems(client: httpx2.Client, told: dict[str, Any]) -> Iterable[str]:
    """Requests that failed, and fits that do not end well once nobody asks any more."""
    for error, count in told["errors"].items():
        yield f"{error}, {count} times"
    ends_at = time.monotonic() + DRAIN_SECONDS
    for fit_id in told["open_fits"]:
        wait = {"Prefer": f"wait={max(int(ends_at - time.monotonic()), 0)}"}
        status = client.get(f"/v1/fits/{fit_id}", headers=wait).json()["status"]
        if status != "succeeded":
            yield f"the fit {fit_id} is {status}"


def growth(before: dict[str, float], after: dict[str, float]) -> Iterable[str]:
    """Who takes more than it should."""
    for name, taken in before.items():
        if after[name] > taken * (1 + MAX_GROWTH):
            yield f"the memory of the {name} grew from {taken:.0f} to {after[name]:.0f} MiB"


def report(measured: dict[str, Any], before: dict[str, float], after: dict[str, float]) -> None:
    """The figures."""
    print(f"{measured['requests_per_second']:.0f} requests per second, {measured['n_fits']} fits among them")
    for kind, figures in measured["kinds"].items():
        print(f"{kind:>10} {figures['requests']:>8}   p50 {figures['p50']:7.2f} ms   p99 {figures['p99']:7.2f} ms")
    for name, taken in before.items():
        told = f"{taken:.0f} MiB after the warm-up, {after[name]:.0f} at the end ({after[name] / taken - 1:+.1%})"
        print(f"memory of the {name}: {told}")


if __name__ == "__main__":
    sys.exit(main())
