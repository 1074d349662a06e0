"""`melm up` as a person would use it: one command, everything runs, and everything ends with it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest

from service.security.keys import Scope
from service.security.keys_file import KeysFile
from tests.servers import ROOT, children_of, wait_until
from tests.service import samples
from tests.service.api import START_SECONDS, free_port, is_alive

COMMAND = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())", "up"]


@dataclass
class Up:
    """A running `melm up`."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def descendants(self) -> dict[int, str]:
        """All processes below it, with their commands."""
        found: dict[int, str] = {}
        waiting = children_of(self.process.pid)
        while waiting:
            pid = waiting.pop()
            with suppress(FileNotFoundError, ProcessLookupError):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            waiting += children_of(pid)
        return found

    def part(self, word: str) -> int | None:
        """The process id of a direct child by a word of its command; None while there is none."""
        family = self.descendants()
        return next((pid for pid in children_of(self.process.pid) if word in family.get(pid, "")), None)


@contextmanager
def running(data_dir: Path, port: int, *options: str) -> Iterator[Up]:
    """`melm up`, ready."""
    log = data_dir.parent / f"up-{time.time_ns()}.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MELM_")}
    arguments = ["--port", str(port), "--data-dir", str(data_dir), "--workers", "1", *options]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=ROOT, env=environment, stdout=output, stderr=output, text=True
        )
    try:
        wait_until(lambda: process.poll() is not None or "ready at" in log.read_text(), START_SECONDS)
        assert process.poll() is None, log.read_text()
        yield Up(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(45)


def is_running(pid: int) -> bool:
    """Whether a process lives, as more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_everything_starts_heals_stops_and_remembers(data_dir: Path) -> None:
    port = free_port()
    with running(data_dir, port) as up, httpx2.Client(base_url=up.url, timeout=60) as client:
        said = up.log.read_text()
        assert f"ready at http://127.0.0.1:{port}" in said
        assert "\x1b[" not in said
        assert len(said.splitlines()) < 6
        fit = samples.fit(client, {"data": {"X": samples.irises()["X"], "y": samples.irises()["y"]}, "method": "pca"})
        assert fit["status"] == "succeeded"

        for word in ("-m worker", "-m service", "-server"):
            killed = up.part(word)
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            wait_until(partial(is_replaced, up, word, killed), START_SECONDS)
        assert up.log.read_text().count("starting it again") == 3
        wait_until(lambda: ready(client), START_SECONDS)
        assert client.get(f"/v1/fits/{fit['id']}").json()["status"] == "succeeded"
        family = up.descendants()
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(45) == 0
        assert not [command for pid, command in family.items() if is_running(pid)]
    assert not is_alive(up.url)

    with running(data_dir, port) as up, httpx2.Client(base_url=up.url, timeout=60) as client:
        rows = {"X": samples.irises()["X"][:1]}
        assert client.post(f"/v1/models/{fit['model_id']}/predict", json=rows).json()["predictions"] == ["setosa"]
        family = up.descendants()
        second = refused("--port", str(free_port()), "--data-dir", str(data_dir))
        assert "Another melm up uses" in second
        up.process.kill()  # not even this leaves an orphan, on Linux
        wait_until(lambda: not any(map(is_running, family)))


def refused(*arguments: str) -> str:
    """What `melm up` says when it will not start."""
    ended = subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stdout + ended.stderr
    return ended.stdout


def test_a_taken_port_is_said_clearly(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("--port", str(port), "--data-dir", str(data_dir))
    assert f"Port {port} on 127.0.0.1 cannot be used" in said
    assert "--port" in said


def test_other_addresses_need_keys(data_dir: Path) -> None:
    assert "without keys" in refused("--host", "0.0.0.0", "--data-dir", str(data_dir))  # noqa: S104


def test_keys_beside_the_data_are_asked_for(data_dir: Path) -> None:
    token = KeysFile(data_dir / "keys").create("laptop", "default", Scope.FIT)
    with running(data_dir, free_port()) as up, httpx2.Client(base_url=up.url, timeout=60) as client:
        assert client.get("/v1/fits").status_code == 401
        assert client.get("/v1/fits", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def is_replaced(up: Up, word: str, pid: int) -> bool:
    """Whether another process has taken the part's place."""
    return up.part(word) not in (None, pid)


def ready(client: httpx2.Client) -> bool:
    """Whether fits are worked on."""
    try:
        return client.get("/readyz?for=fits").status_code == 200
    except httpx2.TransportError:
        return False
