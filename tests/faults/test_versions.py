"""Records of other versions of this program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.deployment import TENANT, Deployment, deployment
from tests.servers import wait_until
from worker.engine.fits import FIT_VERSION
from worker.store.records import FitRecord, Status


def store_as_version(deployed: Deployment, version: int) -> FitRecord:
    """A fit as that version would have stored it."""
    fit = deployed.store_only(n_starts=3)
    deployed.server.client.hset(meta_of(fit), "schema_version", str(version))
    deployed.dispatcher.send()
    return fit


def meta_of(fit: FitRecord) -> str:
    return f"melm:{{{TENANT}}}:fit:{fit.id}:meta"


@pytest.mark.scenario(24, "a fit stored by another version, which workers leave waiting")
@pytest.mark.parametrize("version", [FIT_VERSION + 1, pytest.param(0, marks=pytest.mark.faults)])
def test_an_unknown_version_is_left_to_others_and_said(tmp_path: Path, version: int) -> None:
    """It is no reason to end as one that consumes no more would."""
    with deployment(tmp_path, stalled_seconds=1) as deployed, deployed.worker() as worker:
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
def test_the_previous_version_is_planned_again_and_goes_on(tmp_path: Path) -> None:
    """Met first by a worker that cannot read it, then by one that can."""
    with deployment(tmp_path) as deployed:
        with deployed.worker():
            fit = store_as_version(deployed, FIT_VERSION + 1)
            wait_until(lambda: deployed.store.workers.health().unreadable_fits == 1)
        assert deployed.get(fit).status is Status.QUEUED
        deployed.server.client.hset(meta_of(fit), "schema_version", str(FIT_VERSION - 1))
        with deployed.worker():
            deployed.wait_for_end(fit)
        assert deployed.store.workers.health().unreadable_fits == 0
        deployed.assert_whole(fit)
        assert deployed.server.client.hget(meta_of(fit), "schema_version") == str(FIT_VERSION).encode()
