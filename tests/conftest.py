"""Settings that hold for all tests."""

import os
import signal

# Before numpy is loaded: threads of BLAS that wait for each other slow a busy machine down many times.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

from tests.running_service import service as service

# A shell that runs the tests in the background ignores Ctrl-C for them, and so for all they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "local")
