"""The service that is attacked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from service.security.keys import digest_of
from tests.servers import RedisServer, redis_server, worker_process
from tests.service import samples
from tests.service.api import Api, api_process

ADA, MALLORY = "ada-secret", "mallory-secret"
KEYS = ";".join(f"{name} admin {digest_of(f'{name}-secret').hex()}" for name in ("ada", "mallory"))


@dataclass(frozen=True)
class Attacked:
    """A running service, and a model of ada's."""

    api: Api
    server: RedisServer
    model_id: str


@contextmanager
def attacked_service(folder: Path) -> Iterator[Attacked]:
    """A service with two tenants and a worker of one process."""
    with (
        redis_server(folder / "redis") as server,
        worker_process(server.url, folder / "worker.log", worker_processes=1),
        api_process(server.url, folder / "api.log", keys=KEYS, send_timeout_seconds=2) as api,
    ):
        yield Attacked(api, server, model_of(api, ADA))


def model_of(api: Api, key: str) -> str:
    """A model of the irises."""
    with api.client(key) as client:
        fit = samples.fit(client, {"data": samples.irises(), "method": "lda", "validation": None})
        assert fit["status"] == "succeeded"
        return str(fit["model_id"])


def memory(pid: int, name: str = "VmRSS") -> int:
    """The memory of a process in bytes, 0 once it has ended; `VmHWM` is the most that it ever held."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    return 0 if found is None else int(found[1]) * 1024  # a process that waits for its parent has no such line


@contextmanager
def peak_of(pid: int) -> Iterator[list[int]]:
    """How much more memory than at the beginning a process holds at its peak, once the block has ended."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins again
    before = memory(pid)
    grown: list[int] = []
    yield grown
    grown.append(max(memory(pid, "VmHWM") - before, 0))


def status_of(client: httpx2.Client, method: str, path: str, **options: object) -> int:
    """The status of an answer. No attack gets a 5xx, but for a 503 that says when to come back."""
    response = client.request(method, path, **options)  # type: ignore[arg-type]
    assert response.status_code < 500 or response.headers.get("Retry-After"), response.text
    return response.status_code
