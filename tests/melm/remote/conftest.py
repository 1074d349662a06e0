"""A client of the running service, and data to send there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from melm.remote import Client, Dataset, Model
from melm.typing import AnyArray
from tests.running_service import RunningService
from tests.service import samples


@pytest.fixture
def client(service: RunningService) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client


@pytest.fixture(scope="session")
def irises() -> tuple[AnyArray, AnyArray]:
    return samples.iris_arrays()


@pytest.fixture(scope="session")
def dataset(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> Dataset:
    with Client(service.url) as client:
        return client.datasets.upload(*irises, feature_names=samples.FEATURES, name="irises")


@pytest.fixture
def model(client: Client, dataset: Dataset) -> Model:
    """A model of the irises; every test but the first gets it at once."""
    return client.fits.submit(dataset, params={"regularization": None, "n_starts": 2}, validation=None).wait()


@pytest.fixture(scope="session")
def long_dataset(service: RunningService) -> Dataset:
    """Rows on which many starts take many seconds."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3_000, 20))
    with Client(service.url) as client:
        return client.datasets.upload(X, (X[:, 0] + generator.normal(size=3_000) > 0).astype(int))
