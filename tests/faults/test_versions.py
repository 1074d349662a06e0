"""Records of other versions of this program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.deployment import TENANT, Deployment, deployment
from tests.faults.upgrading_worker import from_version_0
from tests.servers import wait_until
from worker.engine.upgrade import STEPS
from worker.store.records import SCHEMA_VERSION, FitRecord, Status


def store_as_version(deployed: Deployment, version: int) -> FitRecord:
    """A fit as that version would have stored it."""
    fit = deployed.store_only(n_starts=3)
    stored = dict(fit.params)
    if version == 0:
        stored["starts"] = stored.pop("n_starts")
    meta = f"melm:{{{TENANT}}}:fit:{fit.id}:meta"
    deployed.server.client.hset(meta, mapping={"schema_version": version, "params": json.dumps(stored)})
    deployed.dispatcher.send(TENANT, fit.id)
    return fit


@pytest.mark.scenario(24, "a record of a version that workers do not know")
@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, pytest.param(0, marks=pytest.mark.faults)])
def test_an_unknown_version_is_left_to_others_and_said(tmp_path: Path, version: int) -> None:
    """It is no reason to end as one that consumes no more would."""
    with deployment(tmp_path, grace_seconds=0.3, stalled_seconds=1) as deployed, deployed.worker() as worker:
        fit = store_as_version(deployed, version)
        log = tmp_path / "worker.log"
        wait_until(lambda: log.read_text().count("left to a worker of another version") > 1)
        wait_until(lambda: not deployed.store.workers.health().moving)
        assert deployed.store.workers.health().unreadable_fits == 1
        wait_until(lambda: log.read_text().count("left to a worker of another version") > 3)
        assert worker.process.poll() is None
        other = deployed.submit(n_starts=2)
        deployed.wait_for_end(other)
        deployed.assert_whole(other)
        assert deployed.executions(fit) == []
        deployed.fits.remove(fit)


@pytest.mark.scenario(24, "a record of the previous version")
def test_the_previous_version_is_upgraded_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Met first by a worker that cannot read it, then by one that can."""
    with deployment(tmp_path) as deployed:
        with deployed.worker():
            fit = store_as_version(deployed, 0)
            wait_until(lambda: deployed.store.workers.health().unreadable_fits == 1)
        monkeypatch.setitem(STEPS, 0, from_version_0)
        assert deployed.get(fit).status is Status.QUEUED
        with deployed.worker(module="tests.faults.upgrading_worker"):
            deployed.wait_for_end(fit)
        assert deployed.store.workers.health().unreadable_fits == 0
        deployed.assert_whole(fit)
        stored = deployed.server.client.hgetall(f"melm:{{{TENANT}}}:fit:{fit.id}:meta")
        assert stored[b"schema_version"] == b"%d" % SCHEMA_VERSION
        assert b"n_starts" in stored[b"params"]
