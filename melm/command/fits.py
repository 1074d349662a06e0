"""`melm fits`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(commands, "fits", run, "list the fits of a service, newest first", "melm fits")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """List them."""
    from melm.command.output import write_columns, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        records = [fit.record for fit in client.fits]
    if options.json:
        write_json(records)
        return
    header = ("id", "status", "method", "starts", "best", "created", "name")
    rows = [
        (
            record.id,
            record.status,
            record.method,
            f"{record.progress.starts_done}/{record.progress.n_starts or '-'}",
            record.progress.best_divergence,
            record.created_at,
            record.name,
        )
        for record in records
    ]
    write_columns(header, rows)
