"""`melm up` as a person would use it: one command, everything runs, and everything ends with it."""

import os
import shutil
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

COMMAND = [sys.executable, "-c", "import sys; from melm.command import main; sys.exit(main())", "up"]


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
def running(data_dir: Path, port: int, *options: str, **variables: str) -> Iterator[Up]:
    """`melm up`, ready."""
    log = data_dir.parent / f"up-{time.time_ns()}.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MELM_")} | variables
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
        with suppress(AssertionError):
            wait_until(lambda: not any(map(is_running, family)))
        assert not [command for pid, command in family.items() if is_running(pid)]


def test_what_is_stored_is_private_a_torn_file_is_said_and_the_end_comes(data_dir: Path) -> None:
    files = data_dir / "appendonlydir"
    with running(data_dir, free_port()) as up, httpx2.Client(base_url=up.url, timeout=60) as client:
        assert client.post("/v1/datasets", json=samples.irises()).status_code == 201
    (log,) = files.glob("*.incr.aof")
    os.truncate(log, log.stat().st_size - 10)
    for path in (files, *files.iterdir()):  # as another program, or version 0.1, has left them
        path.chmod(0o755)
    with running(data_dir, free_port(), http_proxy="http://127.0.0.1:9") as up:  # which must not be asked
        assert "Truncating the AOF" in up.log.read_text()
        api = up.part("-m service")
        assert api is not None
        os.kill(api, signal.SIGSTOP)  # an API that does not react does not keep melm up from ending
    assert not is_running(api)
    assert not [path for path in (files, *files.iterdir()) if path.stat().st_mode & 0o077]


def test_a_server_that_outlives_a_killed_melm_up_keeps_the_data(data_dir: Path) -> None:
    port = free_port()
    with running(data_dir, port) as up:
        server = up.part("-server")
        assert server is not None
        os.kill(server, signal.SIGSTOP)  # too busy to notice a signal
        up.process.kill()
        up.process.wait()
        try:
            assert f"its server still uses {data_dir}" in refused(
                "--port", str(free_port()), "--data-dir", str(data_dir)
            )
        finally:
            os.kill(server, signal.SIGCONT)
    with running(data_dir, port):  # it has noticed, and waits no longer than that takes
        assert not is_running(server)


def test_a_server_of_somebody_else_is_not_joined(data_dir: Path) -> None:
    data_dir.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(data_dir / "server.sock"))
        server.listen()
        assert "A server answers at" in refused("--port", str(free_port()), "--data-dir", str(data_dir))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_a_full_disk_stops_new_work_and_nothing_else(data_dir: Path) -> None:
    data_dir.mkdir()
    with (
        mounted(data_dir, 24 << 20),
        running(data_dir, free_port(), MELM_STORE_RESERVE_BYTES=str(8 << 20), MELM_MODEL_CHECK_SECONDS="0") as up,
        httpx2.Client(base_url=up.url, timeout=60) as client,
    ):
        fit = samples.fit(client, {"data": samples.irises(), "method": "pca", "validation": None})
        model = f"/v1/models/{fit['model_id']}"
        rows = {"X": samples.irises()["X"][:1]}
        fill(data_dir / "filling", keep_bytes=4 << 20)
        wait_until(lambda: store_another(client) == 503)
        assert client.post(f"{model}/predict", json=rows).status_code == 200
        assert client.delete(f"/v1/datasets/{fit['dataset_id']}").status_code == 204

        fill(data_dir / "more", keep_bytes=0)  # now the server cannot even write a heartbeat, and exits
        wait_until(lambda: "server ended with" in up.log.read_text(), START_SECONDS)
        assert client.post(f"{model}/predict", json=rows).status_code == 200
        wait_until(lambda: up.log.read_text().count("server ended with") > 5, START_SECONDS)
        for name in ("filling", "more"):
            (data_dir / name).unlink()
        wait_until(lambda: ready(client), START_SECONDS)
        assert store_another(client) == 201


def store_another(client: httpx2.Client) -> int:
    """The status when a dataset is sent that is not there yet."""
    body = {"X": [[1], [2], [3], [time.time()]], "y": [0, 1, 0, 1]}
    return client.post("/v1/datasets", json=body).status_code


@contextmanager
def mounted(folder: Path, n_bytes: int) -> Iterator[None]:
    """A small disk of its own."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(file: Path, keep_bytes: int) -> None:
    """Take the disk's room, but for some."""
    with suppress(OSError), file.open("wb") as filling:
        while shutil.disk_usage(file.parent).free > keep_bytes:
            filling.write(bytes(4096))
            filling.flush()


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
