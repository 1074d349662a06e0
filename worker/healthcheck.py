"""`python -m worker.healthcheck` exits with 0 if the worker of this host or container is alive, else with 1."""

from __future__ import annotations

import os
import sys

from worker.engine import open_engine
from worker.store.errors import ContractError
from worker.store.process import host
from worker.store.settings import Settings


def main() -> str | None:
    """What is wrong, or None."""
    try:
        workers = open_engine(Settings.from_environment(os.environ)).workers.health().workers
    except ContractError as error:
        return str(error)
    is_alive = any(name.startswith(f"{host()}/") for name in workers)
    return None if is_alive else "No worker of this host has a fresh heartbeat."


if __name__ == "__main__":
    sys.exit(main())
