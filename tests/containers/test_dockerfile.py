"""The image: what is in it, and as whom it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.containers import dockerfile
from tests.containers.conftest import PROJECT


def test_the_image_holds_the_packages_and_no_tools_of_development(image: Path) -> None:
    site_packages = next((image / "lib").glob("python*/site-packages"))
    installed = {path.name for path in site_packages.iterdir()}
    assert {"melm", "service", "worker"} <= installed
    assert installed.isdisjoint({"mypy", "pip", "pytest", "tests"})


def test_the_image_holds_every_file_of_the_packages(image: Path) -> None:
    site_packages = next((image / "lib").glob("python*/site-packages"))
    tracked = subprocess.run(
        ["git", "ls-files", "melm", "service", "worker"], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert [name for name in tracked if not (site_packages / name).exists()] == []


def test_the_image_runs_as_an_ordinary_user() -> None:
    *_, final = dockerfile.read_stages(PROJECT / "Dockerfile")
    assert [instruction.rest for instruction in final if instruction.word == "USER"] == ["melm"]
