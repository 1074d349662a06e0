"""The deployment that README describes, on a real engine, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.containers.deployment import Deployment
from tests.containers.engine import Engine, NoEngine, open_engine


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    try:
        with open_engine(tmp_path_factory.mktemp("engine")) as engine:
            yield engine
    except NoEngine as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def deployment(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Store, API and workers, started as README says; gone afterward, with their volumes."""
    deployment = Deployment(engine, tmp_path_factory.mktemp("project"))
    try:
        deployment.start_as_readme_says()
        yield deployment
    finally:
        deployment.remove()
    assert deployment.containers() == []


@pytest.fixture
def client(deployment: Deployment) -> Iterator[httpx2.Client]:
    with deployment.client() as client:
        yield client
