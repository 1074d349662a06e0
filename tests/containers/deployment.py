"""A copy of the project, deployed by its compose file."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import yaml

from tests.containers.engine import PROJECT, Engine
from tests.servers import wait_until

NAME = "melm-test"
START_SECONDS = 120.0
BUILD_SECONDS = 900.0


class Deployment:
    """Names and ports of its own, and a build that may use the network of the machine; else what README says."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.port = free_port()
        self.tls_port = free_port()
        self.name = NAME
        self.key = ""
        self.image = NAME
        self.base = re.findall(r"^FROM (\S+)", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)[-1]
        self.version: str = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
        for name in tracked_files():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / name)
        build = {"build": {"context": ".", "network": "host"}, "image": NAME}
        override = folder / "tests.yml"
        override.write_text(yaml.safe_dump({"services": {"api": build, "worker": build}}))
        self.variables = {
            "COMPOSE_FILE": f"docker-compose.yml{os.pathsep}{override}",
            "COMPOSE_PROJECT_NAME": NAME,
            "MELM_PUBLISH": f"127.0.0.1:{self.port}",
            "MELM_PUBLISH_TLS": f"127.0.0.1:{self.tls_port}",
        }

    def start_as_readme_says(self) -> None:
        """Run README's commands as they are written, but for the port; the last one lists the fits."""
        section = (self.folder / "README.md").read_text().partition("\n## Containers\n")[2]
        found = re.search(r"```bash\n(.*?)```", section, re.DOTALL)
        assert found is not None, "README shows no commands"
        script = found[1].replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        *_, fits, self.key = self._run(["bash", "-euc", f'{script}\necho; echo "$KEY"'], BUILD_SECONDS).split("\n")[:-1]
        assert json.loads(fits)["data"] == []

    def compose(self, *arguments: str, timeout_seconds: float = 300) -> str:
        """What `docker compose` prints."""
        return self._run(["docker", "compose", *arguments], timeout_seconds)

    def client(self) -> httpx2.Client:
        """A client with the key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=90)

    def containers(self, service: str | None = None) -> list[str]:
        """The ids of all containers, or of those of a service."""
        return self.compose("ps", "--all", "--quiet", *([] if service is None else [service])).split()

    def state(self, container: str) -> dict[str, Any]:
        """What the engine says of a container."""
        state: dict[str, Any] = self.engine.inspect(container)["State"]
        return state

    def wait_healthy(self) -> None:
        """Until every container is."""
        wait_until(self._are_healthy, START_SECONDS)

    def kill_process(self, service: str) -> None:
        """End the first process of a service's first container, as a lack of memory would, and wait for the next."""
        container = self.containers(service)[0]
        before = self.state(container)["Pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.state(container)["Running"] and self.state(container)["Pid"] != before, START_SECONDS)

    def remove(self) -> None:
        """Containers, volumes and network."""
        self.compose("--profile", "tls", "down", "--volumes", "--timeout", "5")

    def _are_healthy(self) -> bool:
        states = [self.state(container) for container in self.containers()]
        return all(state["Running"] and state["Health"]["Status"] == "healthy" for state in states)

    def _run(self, command: list[str], timeout_seconds: float) -> str:
        return self.engine.run(command, self.folder, timeout_seconds, **self.variables)


def tracked_files() -> list[str]:
    """What a clone would hold."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if (PROJECT / name).is_file()]


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
