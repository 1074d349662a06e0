"""What the compose file promises, read without an engine."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.containers.engine import PROJECT, base_images

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())["services"]


def test_the_password_has_no_default() -> None:
    environments = [SERVICES[name]["environment"] for name in ("store", "api", "worker")]
    for variables in environments:
        assert re.search(r"\$\{MELM_REDIS_PASSWORD:\?", " ".join(variables.values()))


def test_ports_are_published_to_this_machine_unless_asked_otherwise() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "api": ["${MELM_PUBLISH:-127.0.0.1:8000}:8000"],
        "proxy": ["${MELM_PUBLISH_TLS:-127.0.0.1:8443}:8443"],
    }


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
def test_every_service_is_confined_watched_and_restarted(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert {"test", "interval", "timeout", "retries", "start_period"} == set(service["healthcheck"])


def test_versions_of_images_are_pinned() -> None:
    assert all(re.search(r":\d+\.\d+\.\d+", name) for name in base_images()), base_images()
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert {service["image"] for service in SERVICES.values() if "build" in service} == {f"melm:{version}"}
    assert f'image.version="{version}"' in (PROJECT / "Dockerfile").read_text()
