"""Importing the client loads nothing of what the service is made of, and nothing that takes long to load."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import melm.remote
print(*sorted(name for name in sys.modules if "." not in name))
"""
HEAVY = {"celery", "fastapi", "kombu", "pydantic", "redis", "scipy", "service", "sklearn", "tqdm", "uvicorn", "worker"}


def test_the_import_is_light() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert not HEAVY & set(run.stdout.split())


def test_the_exported_names() -> None:
    import melm.remote

    assert all(getattr(melm.remote, name) is not None for name in melm.remote.__all__)
