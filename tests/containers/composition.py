"""A compose file, carried out without Docker: every service is a process with a loopback address of its own."""

from __future__ import annotations

import re
import secrets
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.servers import children_of

VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<word>[^}]*))?\})")


class MissingVariable(Exception):
    """A variable that the compose file requires is not set."""


def read_services(path: Path, variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The services of a compose file, with variables put in."""

    def put_in(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: put_in(value) for key, value in node.items()}
        if isinstance(node, list):
            return [put_in(value) for value in node]
        return VARIABLE.sub(value_of, node) if isinstance(node, str) else node

    def value_of(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return "$"
        if variables.get(name):
            return variables[name]
        if match["kind"] == "?":
            raise MissingVariable(f"{name}: {match['word']}")
        return match["word"] or ""

    services: dict[str, dict[str, Any]] = put_in(yaml.safe_load(path.read_text()))["services"]
    return services


class Composition:
    """The services of a compose file as processes.

    In command, environment and health check, a service's own address stands for 0.0.0.0 and 127.0.0.1, and another
    service's address for its name. The volume `name:/path` is the folder `name` under `root`.
    """

    def __init__(self, services: dict[str, dict[str, Any]], path: str, root: Path) -> None:
        self.services = services
        self.path = path
        self.root = root
        network = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}"
        self.addresses = {name: f"{network}.{number}" for number, name in enumerate(services, 1)}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start a service's command; what it says goes to a file under `root`."""
        with (self.root / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self._on_loopback(name, self.services[name]["command"]),
                cwd=self.root,
                env=self._environment(name),
                stdout=log,
                stderr=log,
            )

    def run(self, name: str, command: list[str]) -> str:
        """What a command in a service's surroundings prints, as `docker compose run` does it."""
        words = self._on_loopback(name, command)
        done = subprocess.run(words, cwd=self.root, env=self._environment(name), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_healthy(self, name: str) -> bool:
        """Whether a service's health check passes."""
        check = self.services[name]["healthcheck"]
        kind, *command = self._on_loopback(name, check["test"])
        if kind == "CMD-SHELL":
            command = ["sh", "-c", *command]
        environment = self._environment(name)
        try:
            done = subprocess.run(
                command, cwd=self.root, env=environment, capture_output=True, timeout=seconds(check["timeout"])
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def wait_healthy(self, name: str, timeout: float = 60) -> None:
        """Wait until a service is healthy, as `depends_on` does."""
        end = time.monotonic() + timeout
        while not self.is_healthy(name):
            if self.processes[name].poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{name} is not healthy:\n{self.log(name)}")
            time.sleep(0.1)

    def stop(self, name: str) -> int:
        """Stop a service as Docker does, by SIGTERM and patience; its exit code."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            return process.wait(seconds(self.services[name].get("stop_grace_period", "10s")))
        finally:
            process.kill()

    def kill(self, name: str) -> None:
        """Take a service down without warning."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def log(self, name: str) -> str:
        """What a service said."""
        return (self.root / f"{name}.log").read_text(errors="replace")

    def command_lines(self, name: str) -> str:
        """What a list of processes shows of a service: its command and those of its children."""
        pid = self.processes[name].pid
        return "\n".join(Path(f"/proc/{each}/cmdline").read_text() for each in (pid, *children_of(pid)))

    def _environment(self, name: str) -> dict[str, str]:
        given = self.services[name].get("environment", {})
        values = self._on_loopback(name, [str(value) for value in given.values()])
        return {"PATH": self.path, "HOME": "/nonexistent", **dict(zip(given, values, strict=True))}

    def _on_loopback(self, name: str, words: list[str]) -> list[str]:
        own = self.addresses[name]
        mapping = {"0.0.0.0": own, "127.0.0.1": own}  # noqa: S104
        mapping |= {f"@{other}:": f"@{address}:" for other, address in self.addresses.items()}
        for volume in self.services[name].get("volumes", []):
            source, target = volume.split(":")
            (self.root / source).mkdir(exist_ok=True)
            mapping[target] = str(self.root / source)
        pattern = re.compile("|".join(re.escape(text) for text in mapping))
        return [pattern.sub(lambda match: mapping[match[0]], word) for word in words]


def seconds(text: str) -> float:
    """A compose duration such as 30s."""
    return float(text.removesuffix("s"))
