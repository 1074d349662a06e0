"""Importing the client is quick, and loads nothing of what the service is made of."""

from __future__ import annotations

import subprocess
import sys

MAX_SECONDS = 0.4
PROGRAM = """
import sys, time
began_at = time.process_time()
import melm.remote
print(time.process_time() - began_at)
print(*sorted(name for name in sys.modules if "." not in name))
"""
HEAVY = {"celery", "fastapi", "kombu", "pydantic", "redis", "scipy", "service", "sklearn", "tqdm", "uvicorn", "worker"}


def test_the_import_is_light() -> None:
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]
    assert min(float(run.splitlines()[0]) for run in runs) < MAX_SECONDS, "seconds of processor time, other work aside"
    assert not HEAVY & set(runs[0].splitlines()[1].split())


def test_the_exported_names() -> None:
    import melm.remote

    assert all(getattr(melm.remote, name) is not None for name in melm.remote.__all__)
