"""The image, built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.containers import dockerfile

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the Dockerfile's build stage makes: the folder that the image keeps under its prefix."""
    build, _ = dockerfile.read_stages(PROJECT / "Dockerfile")
    return dockerfile.carry_out(build, PROJECT, tmp_path_factory.mktemp("image"))
