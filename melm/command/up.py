"""`melm up`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from melm.command.failure import CommandError, ExitCode
from melm.command.options import add_command
from melm.extras import check_extra

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    up = add_command(
        commands,
        "up",
        run,
        "start server, worker and API on this machine, and keep them running",
        "melm up --port 9000",
    )
    up.add_argument(
        "--host", default=os.environ.get("MELM_HOST", "127.0.0.1"), help="address to listen on (%(default)s)"
    )
    up.add_argument("--port", type=int, default=int(os.environ.get("MELM_PORT", "8000")), help="port (%(default)s)")
    up.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="worker processes (%(default)s)"
    )
    up.add_argument(
        "--data-dir",
        type=Path,
        default=default_data_dir(),
        metavar="DIR",
        help="directory of all data (%(default)s)",
    )
    up.add_argument(
        "--redis-url",
        default=os.environ.get("MELM_REDIS_URL"),
        metavar="URL",
        help="a server that runs already; without it one is started. One with a password is better named by "
        "MELM_REDIS_URL, which no list of processes shows",
    )


def default_data_dir() -> Path:
    """The default data directory of this user."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "melm"


def keys_file(data_dir: Path) -> Path | None:
    """The file of keys: that of the settings, else the one in the data directory, if it exists."""
    if named := os.environ.get("MELM_KEYS_FILE"):
        return Path(named)
    return found if (found := data_dir / "keys").exists() else None


def run(options: argparse.Namespace) -> None:
    """Run until a signal asks to stop."""
    check_extra("service", "melm up")
    from service.operation.supervisor import Deployment
    from service.operation.supervisor import run as run_all

    keys = keys_file(options.data_dir)
    if run_all(Deployment(options.host, options.port, options.workers, options.data_dir, options.redis_url, keys)):
        raise CommandError("the service has stopped", ExitCode.FAILED)
