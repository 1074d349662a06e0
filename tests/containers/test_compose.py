"""The compose file: its promises, and a fit through everything that it starts."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import redis

from tests.containers.composition import Composition, MissingVariable, read_services
from tests.containers.conftest import PROJECT
from tests.servers import server_binary, wait_until

VARIABLES = {"MELM_REDIS_PASSWORD": "correcthorse", "MELM_WORKER_PROCESSES": "1"}
COMPOSE_FILE = PROJECT / "docker-compose.yml"
SERVICES = read_services(COMPOSE_FILE, VARIABLES)
ORDER = ("store", "worker", "api")


@pytest.fixture(scope="module")
def commands(image: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path with the image's commands, and with those of the server's image."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "valkey-server").symlink_to(server_binary())
    client = shutil.which("valkey-cli") or shutil.which("redis-cli")
    if client is None:
        pytest.skip("needs valkey-cli or redis-cli, for the server's health check")
    (folder / "valkey-cli").symlink_to(client)
    return f"{image / 'bin'}:{folder}:/usr/bin:/bin"


@pytest.fixture(scope="module")
def processes(commands: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composition]:
    """The services, none of them started; all of them ended afterwards."""
    composition = Composition(SERVICES, commands, tmp_path_factory.mktemp("composition"))
    yield composition
    for name in reversed(list(composition.processes)):
        composition.kill(name)


@pytest.fixture(scope="module")
def key(processes: Composition) -> str:
    """A key, made as the README says."""
    return processes.run("api", ["melm", "keys", "create", "admin", "--scope", "admin"]).strip()


@pytest.fixture
def composition(processes: Composition, key: str) -> Composition:
    """All services running and healthy; those that an earlier test left running go on."""
    for name in ORDER:
        if name not in processes.processes:
            processes.start(name)
        processes.wait_healthy(name)
    return processes


@pytest.fixture
def client(composition: Composition, key: str) -> Iterator[httpx2.Client]:
    """A client of the API, with its key."""
    address = f"http://{composition.addresses['api']}:8000"
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=70) as client:
        yield client


def test_nobody_comes_in_without_key_or_password(composition: Composition, client: httpx2.Client, key: str) -> None:
    assert client.get("/v1/fits", headers={"Authorization": ""}).status_code == 401
    with redis.Redis(host=composition.addresses["store"]) as intruder, pytest.raises(redis.AuthenticationError):
        intruder.ping()
    for secret in (VARIABLES["MELM_REDIS_PASSWORD"], key):
        assert not any(secret in composition.log(name) for name in ORDER)
        assert not any(secret in composition.command_lines(name) for name in ORDER)


def test_a_fit_goes_through_and_outlives_the_server(composition: Composition, client: httpx2.Client) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[20:, 0] += 5
    data = {"X": rows.tolist(), "y": ["left"] * 20 + ["right"] * 20}
    body = {"data": data, "params": {"n_components": 1, "n_starts": 2}, "validation": None}
    fit = client.post("/v1/fits", json=body, headers={"Prefer": "wait=60"}).raise_for_status().json()
    assert fit["status"] == "succeeded", fit

    composition.kill("store")
    assert not composition.is_healthy("store")
    assert not composition.is_healthy("worker")
    assert composition.is_healthy("api")  # it answers, if only to say that the store is away
    composition.start("store")
    composition.wait_healthy("store")
    composition.wait_healthy("worker")
    question = {"X": rows[[0, -1]].tolist()}
    answer = client.post(f"/v1/models/{fit['model_id']}/predict", json=question).raise_for_status().json()
    assert answer["predictions"] == ["left", "right"]


@pytest.mark.parametrize("name", ORDER)
def test_a_service_stops_when_told_and_is_not_healthy_then(composition: Composition, name: str) -> None:
    assert composition.stop(name) in (0, -signal.SIGTERM), composition.log(name)
    wait_until(lambda: not composition.is_healthy(name))


def test_the_password_has_no_default() -> None:
    with pytest.raises(MissingVariable, match="MELM_REDIS_PASSWORD"):
        read_services(COMPOSE_FILE, {})


def test_without_a_key_the_api_says_how_to_make_one(commands: str, tmp_path: Path) -> None:
    composition = Composition(SERVICES, commands, tmp_path)
    composition.start("api")
    assert composition.processes["api"].wait(60) == 1
    assert "`melm keys create` makes one" in composition.log("api")


def test_only_the_api_is_published_and_only_to_this_machine() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "api": ["127.0.0.1:8000:8000"]
    }


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
def test_every_service_is_confined_watched_and_restarted(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert {"test", "interval", "timeout", "retries", "start_period"} == set(service["healthcheck"])
