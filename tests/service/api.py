"""A real API process for tests: waited for by what it answers, ended by its id."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx2
import uvicorn
from fastapi import FastAPI

from tests.servers import ROOT, wait_until
from worker.store.settings import variable

TIMEOUT_SECONDS = 70.0
START_SECONDS = 120.0  # on a machine that has much else to do


@dataclass
class Api:
    """A running API."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def client(self, key: str | None = None) -> httpx2.Client:
        """A client, with a key where one is needed."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=TIMEOUT_SECONDS)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def api_process(
    redis_url: str,
    log: Path,
    *,
    module: str = "service",
    environment: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    **settings: object,
) -> Iterator[Api]:
    """A running API with these settings: `max_rows=10` and the like. A prefix is a command that runs it elsewhere."""
    given = {"redis_url": redis_url, "host": "127.0.0.1", "port": free_port(), **settings}
    variables = {variable(name): str(value) for name, value in given.items()}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*prefix, sys.executable, "-m", module],
            cwd=ROOT,
            env={**os.environ, **(environment or {}), **variables},
            stdout=output,
            stderr=output,
        )
    api = Api(f"http://{given['host']}:{given['port']}", process, log)
    try:
        wait_until(lambda: process.poll() is not None or is_alive(api.url), START_SECONDS)
        if process.poll() is not None:
            raise AssertionError(f"The API did not start:\n{log.read_text()}")
        yield api
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """An application in this process, in a thread named `loop`, at an address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = Thread(target=server.run, name="loop")
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def is_alive(url: str) -> bool:
    """Whether somebody answers there."""
    try:
        return httpx2.get(f"{url}/healthz", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False
