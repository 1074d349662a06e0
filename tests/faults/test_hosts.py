"""Several hosts: server, API and two workers in network namespaces of their own, whose links are cut and mended.

The test itself, in the place of the client, is a host as well: it owns the bridge between them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults.deployment import TENANT, Deployment, deployment
from tests.servers import wait_until
from worker.store.records import FitRecord

NUMBER = os.getpid() % 10_000  # so that several runs on one machine do not meet
NETWORK = f"10.98.{NUMBER % 250}"
BRIDGE = f"melm{NUMBER}"
CUT_SECONDS = 20.0
KEY = "a key, since the API listens on a network"


def ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True, capture_output=True)


def namespaces_can_be_made() -> bool:
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    with suppress(subprocess.CalledProcessError):
        ip("netns", "add", BRIDGE)
        ip("netns", "delete", BRIDGE)
        return True
    return False


@dataclass(frozen=True)
class Host:
    """A network namespace with one link."""

    number: int

    @property
    def name(self) -> str:
        return f"{BRIDGE}-{self.number}"

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
        ip("link", "delete", self.name)  # it would stay for a while after its namespace
        ip("netns", "delete", self.name)


@dataclass(frozen=True)
class Hosts:
    """Who is where."""

    store: Host = Host(2)
    api: Host = Host(3)
    worker: Host = Host(4)
    other_worker: Host = Host(5)

    def __iter__(self) -> Iterator[Host]:
        return iter((self.store, self.api, self.worker, self.other_worker))


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if not namespaces_can_be_made():
        pytest.skip("network namespaces cannot be made here: it takes root and the ip command")
    hosts = Hosts()
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
def deployed(hosts: Hosts, tmp_path: Path) -> Iterator[Deployment]:
    host = hosts.store
    with deployment(tmp_path, address=host.address, prefix=host.prefix, store_timeout_seconds=1.0) as deployed:
        yield deployed


@pytest.fixture
def client(deployed: Deployment, hosts: Hosts) -> Iterator[httpx2.Client]:
    """A client of the API, which asks it over the network."""
    keys = f"{TENANT} fit {hashlib.sha256(KEY.encode()).hexdigest()}"
    with (
        deployed.api(prefix=hosts.api.prefix, host=hosts.api.address, port=8000, keys=keys) as api,
        api.client(KEY) as client,
    ):
        yield client


def posted(deployed: Deployment, client: httpx2.Client, **params: Any) -> FitRecord:
    assert deployed.post(client, **params).status_code == 202
    return deployed.fits[-1]


@pytest.mark.scenario(26, "one of two worker hosts cut off, and back")
def test_a_worker_that_is_cut_off_is_replaced_and_comes_back(
    deployed: Deployment, hosts: Hosts, client: httpx2.Client
) -> None:
    with deployed.worker(prefix=hosts.worker.prefix) as cut_off, deployed.worker(prefix=hosts.other_worker.prefix):
        fit = posted(deployed, client, n_starts=60, seconds=0.5)
        wait_until(lambda: any(each.pid in cut_off.children() for each in deployed.executions(fit)))
        deployed.fault()
        hosts.worker.cut()
        wait_until(lambda: 2 in deployed.times_run(fit).values())
        assert deployed.get(fit).recoveries >= 1
        hosts.worker.mend()
        wait_until(lambda: len(deployed.store.workers.health().workers) == 2)
        assert deployed.get(fit).is_active  # what the worker has had in hand since then comes too late
        deployed.wait_for_end(fit, 60)
        deployed.assert_whole(fit)
        ended = deployed.get(fit)

        def is_back() -> bool:
            another = posted(deployed, client, n_starts=8, seconds=0.2)
            deployed.wait_for_end(another)
            deployed.assert_whole(another)
            return not {run.pid for run in deployed.executions(another)}.isdisjoint(cut_off.children())

        wait_until(is_back, 120)
        assert deployed.get(fit) == ended


@pytest.mark.scenario(26, "the server's link cut for 20 s")
def test_a_server_that_is_cut_off_for_long_costs_time_only(
    deployed: Deployment, hosts: Hosts, client: httpx2.Client
) -> None:
    with deployed.worker(prefix=hosts.worker.prefix), deployed.worker(prefix=hosts.other_worker.prefix):
        fit = posted(deployed, client, n_starts=12, seconds=0.5)
        deployed.wait_for_execution(fit, 5)
        hosts.store.cut()
        cut_at = time.monotonic()
        assert deployed.post(client).status_code == 503
        time.sleep(cut_at + CUT_SECONDS - time.monotonic())
        hosts.store.mend()
        deployed.fault()
        deployed.wait_for_end(fit, 120)
        deployed.assert_whole(fit)
        assert set(deployed.times_run(fit).values()) == {1}
        another = posted(deployed, client, n_starts=2)
        deployed.wait_for_end(another)
        deployed.assert_whole(another)
