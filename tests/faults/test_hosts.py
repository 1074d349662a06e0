"""Several hosts: server and workers in network namespaces of their own, whose links are cut and mended.

The test itself, in the place of the API, is a host of its own as well: it owns the bridge between them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.deployment import QUICK, Deployment
from tests.servers import redis_server, wait_until

NETWORK = "10.98.76"
BRIDGE = "melm-bridge"
pytestmark = pytest.mark.faults


def ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True, capture_output=True)


def namespaces_can_be_made() -> bool:
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    with suppress(subprocess.CalledProcessError):
        ip("netns", "add", "melm-probe")
        ip("netns", "delete", "melm-probe")
        return True
    return False


@dataclass(frozen=True)
class Host:
    """A network namespace with one link."""

    name: str
    number: int

    @property
    def address(self) -> str:
        return f"{NETWORK}.{self.number}"

    @property
    def prefix(self) -> tuple[str, ...]:
        """The command that runs another on this host."""
        return ("ip", "netns", "exec", self.name)

    def make(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "uplink", "netns", self.name)
        ip("link", "set", self.name, "master", BRIDGE, "up")
        for command in (f"address add {self.address}/24 dev uplink", "link set uplink up", "link set lo up"):
            ip("-n", self.name, *command.split())

    def cut(self) -> None:
        ip("link", "set", self.name, "down")

    def mend(self) -> None:
        ip("link", "set", self.name, "up")

    def remove(self) -> None:
        ip("netns", "delete", self.name)


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    if not namespaces_can_be_made():
        pytest.skip("network namespaces cannot be made here: it takes root and the ip command")
    hosts = [Host("melm-store", 2), Host("melm-worker1", 3), Host("melm-worker2", 4)]
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("address", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for host in hosts:
            host.make()
        yield hosts
    finally:
        for host in hosts:
            with suppress(subprocess.CalledProcessError):
                host.remove()
        ip("link", "delete", BRIDGE)


@pytest.fixture
def deployed(hosts: list[Host], tmp_path: Path) -> Iterator[Deployment]:
    with redis_server(tmp_path / "redis", address=hosts[0].address, prefix=hosts[0].prefix) as server:
        yield Deployment(tmp_path, server, {**QUICK, "store_timeout_seconds": 1.0})


def test_a_worker_that_is_cut_off_is_replaced_and_comes_back(deployed: Deployment, hosts: list[Host]) -> None:
    _, first, second = hosts
    with deployed.worker(prefix=first.prefix) as cut_off, deployed.worker(prefix=second.prefix):
        fit = deployed.submit(n_starts=8, seconds=0.5)
        wait_until(lambda: any(each.pid in cut_off.children() for each in deployed.executions(fit)))
        deployed.fault()
        first.cut()
        deployed.wait_for_end(fit)
        deployed.assert_whole(fit)
        assert deployed.get(fit).recoveries >= 1
        ended = deployed.get(fit)
        first.mend()
        ends_at = time.monotonic() + 120
        while time.monotonic() < ends_at:
            another = deployed.submit(n_starts=8, seconds=0.2)
            deployed.wait_for_end(another)
            deployed.assert_whole(another)
            if {execution.pid for execution in deployed.executions(another)} & set(cut_off.children()):
                break
        else:
            pytest.fail("The worker did not come back.")
        assert deployed.get(fit) == ended


def test_a_server_that_is_cut_off_for_long_costs_time_only(deployed: Deployment, hosts: list[Host]) -> None:
    store, first, second = hosts
    with deployed.worker(prefix=first.prefix), deployed.worker(prefix=second.prefix):
        fit = deployed.submit(n_starts=12, seconds=0.5)
        deployed.wait_for_execution(fit, 5)
        deployed.fault()
        store.cut()
        time.sleep(20)
        store.mend()
        deployed.wait_for_end(fit, 120)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}
