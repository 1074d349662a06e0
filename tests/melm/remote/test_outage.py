"""The API is killed while a client waits, and comes back: the client carries on and returns the model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from melm.remote import Client, Dataset, Model
from tests.running_service import RunningService
from tests.servers import ROOT, wait_until
from tests.service.api import free_port, is_alive


@contextmanager
def api(redis_url: str, port: int, log: Path) -> Iterator[None]:
    """A second API of the same service, on a port that stays the same; killed at the end."""
    environment = os.environ | {"MELM_REDIS_URL": redis_url, "MELM_PORT": str(port)}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "service"], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    try:
        wait_until(lambda: is_alive(f"http://127.0.0.1:{port}"))
        yield
    finally:
        process.kill()
        process.wait()


def test_a_waiting_client_sits_out_the_death_of_the_api(
    service: RunningService, client: Client, long_dataset: Dataset, tmp_path: Path
) -> None:
    port = free_port()
    models: list[Model] = []
    with Client(f"http://127.0.0.1:{port}") as waiter:
        with api(service.redis_url, port, tmp_path / "api.log"):
            fit = waiter.fits.submit(
                long_dataset, params={"regularization": None, "n_starts": 300, "seed": 4}, validation=None, force=True
            )
            waiting = Thread(target=lambda: models.append(fit.wait()))
            waiting.start()
            wait_until(lambda: fit.record.progress.starts_done > 0)
        assert waiting.is_alive()
        client.fits.attach(fit.id).cancel(keep_best=True)  # by the first API, while the second one is dead
        assert not models
        with api(service.redis_url, port, tmp_path / "api.log"):
            waiting.join(30)
            assert [model.id for model in models] == [fit.record.model_id]
            assert models[0].record.fit_id == fit.id
