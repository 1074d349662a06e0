"""The `melm` command. What a subcommand needs is imported when it runs, so that `melm --help` answers at once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; answers its exit code."""
    options = parser().parse_args(arguments)
    exit_code: int = options.run(options)
    return exit_code


def parser() -> argparse.ArgumentParser:
    """All subcommands."""
    top = argparse.ArgumentParser(prog="melm", description="Supervised linear projections, as a service.")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start server, worker and API on this machine, and keep them running")
    up.add_argument(
        "--host", default=os.environ.get("MELM_HOST", "127.0.0.1"), help="address to listen on (%(default)s)"
    )
    up.add_argument("--port", type=int, default=int(os.environ.get("MELM_PORT", "8000")), help="port (%(default)s)")
    up.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="worker processes (%(default)s)"
    )
    up.add_argument(
        "--data-dir", type=Path, default=default_data_dir(), metavar="DIR", help="where data stay (%(default)s)"
    )
    up.add_argument(
        "--redis-url",
        default=os.environ.get("MELM_REDIS_URL"),
        metavar="URL",
        help="a server that runs already; without it one is started",
    )
    up.set_defaults(run=run_up)
    return top


def default_data_dir() -> Path:
    """Where programs of this user keep their data."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "melm"


def run_up(options: argparse.Namespace) -> int:
    """`melm up`."""
    from service.up import Plan, run

    return run(Plan(options.host, options.port, options.workers, options.data_dir, options.redis_url))
