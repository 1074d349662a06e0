"""A tenant who fills the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.attack.conftest import Record
from tests.attack.service import ADA, KEYS, MALLORY, status_of
from tests.servers import redis_server
from tests.service import samples
from tests.service.api import api_process

STORE_BYTES = 64 << 20
NPZ = {"Content-Type": "application/x-npz"}


def dataset(seed: int) -> bytes:
    """A megabyte of rows."""
    rng = np.random.default_rng(seed)
    return samples.npz(X=rng.normal(size=(16_384, 8)), y=np.arange(16_384) % 2)


def test_a_tenant_who_fills_the_store_stops_nobody_else(tmp_path: Path, record: Record) -> None:
    with (
        redis_server(tmp_path / "redis", "--maxmemory", str(STORE_BYTES)) as server,
        api_process(server.url, tmp_path / "api.log", keys=KEYS, store_timeout_seconds=30) as api,
        api.client(MALLORY) as mallory,
        api.client(ADA) as ada,
    ):
        made: list[str] = []
        while (answer := mallory.post("/v1/datasets", content=dataset(len(made)), headers=NPZ)).status_code == 201:
            made.append(answer.json()["id"])
            assert len(made) < 64
        assert answer.status_code == 429, answer.text
        problem = answer.json()
        assert problem["quota"] == "bytes"
        assert problem["used"] <= problem["limit"] <= STORE_BYTES // 2
        assert status_of(ada, "POST", "/v1/datasets", content=dataset(500), headers=NPZ) == 201
        assert status_of(mallory, "GET", f"/v1/datasets/{made[0]}/rows") == 200
        assert status_of(mallory, "DELETE", f"/v1/datasets/{made[0]}") == 204
        assert status_of(mallory, "POST", "/v1/datasets", content=dataset(900), headers=NPZ) == 201
    record(
        f"one of two tenants fills a store of {STORE_BYTES >> 20} MiB",
        "half of it, by `MELM_MAX_TENANT_BYTES`",
        f"429 after {len(made)} MiB; the other tenant, reading and deleting go on",
    )
