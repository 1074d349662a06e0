"""Values that are damaged or missing in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.deployment import TENANT, deployment
from tests.worker.samples import two_blobs
from worker.store.records import Status


@pytest.mark.scenario(22, "dataset value {harm}")
@pytest.mark.parametrize("harm", [pytest.param("missing", marks=pytest.mark.faults), "damaged"])
def test_a_harmed_dataset_fails_its_fits_once_and_no_others(tmp_path: Path, harm: str) -> None:
    with deployment(tmp_path) as deployed, deployed.worker():
        blocks = f"melm:{{{TENANT}}}:dataset:{deployed.dataset.id}:blocks"
        value = deployed.server.client.hget(blocks, "0")
        assert isinstance(value, bytes)
        if harm == "missing":
            deployed.server.client.hdel(blocks, "0")
        else:
            deployed.server.client.hset(blocks, "0", value[:-1] + bytes([value[-1] ^ 1]))
        fit = deployed.wait_for_end(deployed.submit(n_starts=2))
        assert (fit.status, fit.attempts) == (Status.FAILED, 1)
        assert fit.error is not None
        assert fit.error.type == "Damaged"
        assert deployed.dataset.id in fit.error.message
        assert deployed.executions(fit) == []
        assert deployed.event_types(fit).count("started") == 1
        deployed.dataset, _ = deployed.store.datasets.create(TENANT, *two_blobs(seed=1))
        healthy = deployed.wait_for_end(deployed.submit(n_starts=2))
        assert healthy.status is Status.SUCCEEDED
