"""Settings that hold for all tests."""

import os

from hypothesis import settings

pytest_plugins = ["tests.running_service"]

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "local")
