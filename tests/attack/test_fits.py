"""Fits that ask for more work than they look, or leave more behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import numpy as np

from tests.attack.bystander import Bystander
from tests.attack.conftest import Record
from tests.attack.service import MALLORY, Attacked, memory, status_of
from tests.servers import children_of, redis_server, wait_until, worker_process
from tests.service import samples
from tests.service.api import api_process

MB = 1 << 20
SLOWEST_SECONDS = 0.5  # that the server may be held up by one script
PROCESS_BYTES = 400 * MB


def ask(client: httpx2.Client, **wanted: object) -> httpx2.Response:
    """Ask for a fit of a few rows."""
    return client.post("/v1/fits", json={"data": samples.irises(), "force": True, **wanted})


def test_units_without_number(attacked: Attacked, record: Record) -> None:
    """Each number is allowed by itself; so is the product of those of a usual fit with a hundred permutations."""
    with attacked.api.client(MALLORY) as client:
        validation = {"folds": 20, "repeats": 20, "permutations": 1000, "bootstraps": 1000}
        params = {"regularization": None, "n_starts": 1000, "gamma": "auto"}
        refused = ask(client, params=params, validation=validation)
        assert refused.status_code == 422
        assert "units of work" in refused.text
        assert "seconds of one core" in refused.text
        taken = ask(client, validation={"permutations": 100})
        assert taken.status_code == 202
        assert taken.json()["n_units"] == 18 * 6 * 101  # starts and their folds, the folds of the fit, permutations
        assert taken.json()["estimated_seconds"] > 1
        assert status_of(client, "POST", f"/v1/fits/{taken.json()['id']}/cancel") == 202
    said = refused.json()["errors"][0]["detail"].split(" units")[0].removeprefix("the fit would take about ")
    record(f"a fit of {said} units", "`MELM_MAX_UNITS`, `MELM_MAX_ESTIMATED_SECONDS`", "422 at once, with both figures")


def test_as_many_units_as_a_fit_may_have(
    attacked: Attacked, bystander: Bystander, record: Record, size: Callable[[int, int], int]
) -> None:
    """One stage of nearly all of them holds up neither the server nor anybody else."""
    folds = size(4, 19)
    attacked.server.client.config_set("slowlog-log-slower-than", 1000)
    attacked.server.client.slowlog_reset()
    with attacked.api.client(MALLORY) as client:
        began = ask(client, params={"regularization": None, "n_starts": 1000}, validation={"folds": folds}).json()
        assert began["n_units"] == 1000 * (folds + 1)
        path = f"/v1/fits/{began['id']}"

        def is_at_folds() -> bool:
            now = client.get(path, headers={"Prefer": "wait=1"}).json()
            assert now["status"] in ("queued", "running")
            return bool(now["progress"]["phase"] == "evidence" and now["progress"]["share_done"] > 0.1)

        with bystander.watching() as seen:
            wait_until(is_at_folds, 300)
        assert status_of(client, "POST", f"{path}/cancel") == 202
    slowest = max(entry["duration"] for entry in attacked.server.client.slowlog_get(128)) / 1e6
    assert slowest < SLOWEST_SECONDS
    record(
        f"a fit of {began['n_units']:,} units",
        f"{SLOWEST_SECONDS} s for the longest script",
        f"{slowest:.2f} s; predict {seen.ratio:.1f} times its quiet p99",
    )


def test_a_worker_gives_back_what_a_large_fit_took(tmp_path: Path, record: Record) -> None:
    """Its process is replaced when the fit is done; what a fit takes while it runs is not bounded so."""
    rng = np.random.default_rng(0)
    with (
        redis_server(tmp_path / "redis") as server,
        worker_process(
            server.url, tmp_path / "worker.log", worker_processes=1, process_memory_bytes=PROCESS_BYTES
        ) as worker,
        api_process(server.url, tmp_path / "api.log") as api,
        api.client() as client,
    ):
        body = samples.npz(X=rng.normal(size=(400_000, 40)), y=np.arange(400_000) % 2)
        made = client.post("/v1/datasets", content=body, headers={"Content-Type": "application/x-npz"})
        assert made.status_code == 201, made.text
        wanted = {"dataset_id": made.json()["id"], "method": "pca", "params": {"n_components": 2}, "validation": None}
        most = 0

        def has_ended() -> bool:
            nonlocal most
            most = max([most, *map(memory, children_of(worker.pid))])
            return bool(client.get(path).json()["status"] == "succeeded")

        path = f"/v1/fits/{client.post('/v1/fits', json=wanted).json()['id']}"
        (before,) = children_of(worker.pid)
        wait_until(has_ended, 300)
        assert most > PROCESS_BYTES  # else nothing is shown
        after = wait_until(lambda: [pid for pid in children_of(worker.pid) if pid != before])
        assert all(memory(pid) < PROCESS_BYTES for pid in after)
        record(
            "a large fit, and a worker's process afterward",
            "`MELM_PROCESS_MEMORY_BYTES`: 400 MiB here",
            f"{most / MB:.0f} MiB while it runs, {max(map(memory, after)) / MB:.0f} MiB afterward",
        )
