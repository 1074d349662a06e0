"""Settings that hold for all tests."""

import os
import signal
from pathlib import Path

import pytest

# Before numpy is loaded: threads of BLAS that wait for each other slow a busy machine down many times.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

from tests.running_service import service as service

TESTS = Path(__file__).parent

# A shell that runs the tests in the background ignores Ctrl-C for them, and so for all they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file share what it starts, so they run in one process; those of the library start nothing."""
    for item in items:
        file = item.path.relative_to(TESTS)
        if file.parts[0] != "melm" or file.parts[1] in ("command", "remote"):
            item.add_marker(pytest.mark.xdist_group(str(file)))
