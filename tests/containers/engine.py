"""A container engine for the tests: the one that runs, or else one of their own.

An engine of their own needs root and Debian's packages docker.io and debootstrap. It pulls no image. Its base images
are stand-ins: a release of Debian with its own Python, Valkey and Caddy, under the names that the project uses.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers import wait_until

PROJECT = Path(__file__).parents[2]
RELEASE = "trixie"
PACKAGES = (
    *("ca-certificates", "wget"),
    *("python3", "python3-pip", "python3-venv"),
    *("valkey-server", "caddy"),
)
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")


class NoEngine(Exception):
    """There is no engine, and none can be started here; says what is missing."""


@dataclass(frozen=True)
class Engine:
    """An engine, as its command line reaches it."""

    environment: Mapping[str, str]

    def docker(self, *arguments: str, timeout_seconds: float = 300) -> str:
        """What a command of the engine prints."""
        return self.run(["docker", *arguments], timeout_seconds=timeout_seconds)

    def run(
        self, command: Sequence[str], folder: Path = PROJECT, timeout_seconds: float = 300, **variables: str
    ) -> str:
        """What a command prints that finds the engine by its environment."""
        finished = subprocess.run(
            command,
            cwd=folder,
            env={**self.environment, **variables},
            text=True,
            capture_output=True,
            timeout=timeout_seconds,
        )
        if finished.returncode:
            raise AssertionError(f"{' '.join(command)} failed:\n{finished.stdout}\n{finished.stderr}")
        return finished.stdout

    def inspect(self, name: str) -> dict[str, Any]:
        """What the engine knows of an image or a container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", name))
        return found[0]


@contextmanager
def open_engine(folder: Path) -> Iterator[Engine]:
    """The engine that runs, or one that runs for this long and keeps everything in a folder."""
    if _answers(["docker", "info"], os.environ):
        if not _answers(["docker", "compose", "version"], os.environ):
            raise NoEngine("docker has no command `compose`: install version 2 of it")
        yield Engine(os.environ)
        return
    missing = [name for name in ("dockerd", "debootstrap", "dpkg-deb") if shutil.which(name) is None]
    if os.geteuid() != 0:
        raise NoEngine("no container engine runs, and only root could start one")
    if missing:
        raise NoEngine(f"no container engine runs, and to start one {', '.join(missing)} would be needed")
    release = _release()
    environment = {
        **os.environ,
        "DOCKER_HOST": f"unix://{folder / 'docker.sock'}",
        "DOCKER_CONFIG": str(release / "docker"),
        "DOCKER_BUILDKIT": "1",
    }
    command = [
        *("dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--pidfile", str(folder / "docker.pid"), "--host", environment["DOCKER_HOST"]),
        # Rules of iptables would outlive the engine, and cut the links of other tests.
        *("--iptables=false", "--ip6tables=false", "--bridge=none"),
    ]
    with (folder / "dockerd.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as daemon:
        try:
            wait_until(lambda: daemon.poll() is not None or _answers(["docker", "info"], environment))
            if daemon.poll() is not None:
                raise NoEngine(f"dockerd does not start: {(folder / 'dockerd.log').read_text()[-500:]}")
            engine = Engine(environment)
            _import_base_images(engine, release / "root.tar")
            yield engine
        finally:
            daemon.terminate()
            daemon.wait(60)


def base_images() -> list[str]:
    """The images that the project builds on and runs beside its own."""
    built_on = re.findall(r"^FROM (\S+)", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)
    services = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())["services"].values()
    return sorted({*built_on, *(service["image"] for service in services if "build" not in service)})


def _answers(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    try:
        return subprocess.run(command, env=environment, capture_output=True, timeout=30).returncode == 0
    except FileNotFoundError:
        return False


def _release() -> Path:
    """A folder with the root file system of the stand-ins and the engine's plugins, made once and kept as a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "melm" / "containers"
    release = cache / f"{RELEASE}-{'-'.join(PACKAGES)}"
    if not release.exists():
        unfinished = cache / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        _make_release(unfinished)
        unfinished.rename(release)
    return release


def _make_release(folder: Path) -> None:
    root = folder / "root"
    root.mkdir(parents=True)
    run = Engine(os.environ).run
    run(["debootstrap", "--variant=minbase", RELEASE, str(root), _mirror()], timeout_seconds=900)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    inside = ["chroot", str(root), "env", "DEBIAN_FRONTEND=noninteractive"]
    run([*inside, "apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES], timeout_seconds=900)
    for plugin in ("docker-compose", "docker-buildx"):
        run([*inside, "sh", "-c", f"cd /tmp && apt-get download {plugin}"])
    for package in (root / "tmp").glob("*.deb"):
        run(["dpkg-deb", "--extract", str(package), str(folder / "plugins")])
    plugins = folder / "docker/cli-plugins"
    plugins.mkdir(parents=True)
    for plugin_file in (folder / "plugins").rglob("cli-plugins/*"):
        shutil.copy(plugin_file, plugins)
    run([*inside, "ln", "--symbolic", "python3", "/usr/bin/python"])
    run([*inside, "sh", "-c", "rm /tmp/*.deb /usr/lib/python3*/EXTERNALLY-MANAGED; apt-get clean"])
    run([*inside, "install", "--directory", "--mode", "1777", "/data"])  # for the user of each image
    if (Path("/") / CERTIFICATES).exists():  # those of a proxy among them
        shutil.copy(Path("/") / CERTIFICATES, root / CERTIFICATES)
    archive = ["tar", "--exclude=./proc/*", "--exclude=./sys/*", "--create", "--file", str(folder / "root.tar")]
    run([*archive, "--directory", str(root), "."])
    shutil.rmtree(root)
    shutil.rmtree(folder / "plugins")


def _mirror() -> str:
    """The mirror from which this machine's own packages come."""
    asked = ["apt-get", "indextargets", "--format", "$(SITE)", "Origin: Debian", "Label: Debian"]
    sites = Engine(os.environ).run(asked).split()
    if not sites:
        raise NoEngine("no container engine runs, and `apt-get update` has not been run here")
    return sites[0]


def _import_base_images(engine: Engine, root: Path) -> None:
    first, *others = base_images()
    engine.docker("import", "--change", "VOLUME /data", str(root), first)
    for name in others:
        engine.docker("tag", first, name)
