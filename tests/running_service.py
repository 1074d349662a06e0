"""One running service for all tests that talk to one as a user does: a real server, a real worker, a real API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.servers import redis_server, worker_process
from tests.service.api import api_process


@dataclass(frozen=True)
class RunningService:
    """Where the API listens, and the server behind it."""

    url: str
    redis_url: str


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with a worker of two processes."""
    folder = tmp_path_factory.mktemp("running_service")
    with (
        redis_server(folder / "redis") as server,
        worker_process(server.url, folder / "worker.log", worker_processes=2, sweep_seconds=1),
        api_process(server.url, folder / "api.log") as api,
    ):
        yield RunningService(api.url, server.url)
