"""`python -m worker`: a worker for the melm library, configured by MELM_* variables."""

import os

from worker.app import run_worker
from worker.contract.settings import Settings
from worker.melm_library import MelmLibrary

run_worker(Settings.from_environment(os.environ), MelmLibrary())
