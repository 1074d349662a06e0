"""`python -m worker`: a worker for the melm library, configured by MELM_* variables."""

import os

from worker.app import run_worker
from worker.melm_library import MelmLibrary
from worker.store.settings import Settings

run_worker(Settings.from_environment(os.environ), MelmLibrary())
