"""`melm retry`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands, "retry", run, "go on with a fit of a service that failed or was canceled", "melm retry fit_…"
    )
    command.add_argument("fit", metavar="FIT", help="a fit's id")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Continue a fit from its results, and print its status."""
    from melm.command.output import write_json, write_line
    from melm.remote import Client

    with Client(options.url) as client:
        record = client.fits.attach(options.fit).retry().record
    if options.json:
        write_json(record)
    else:
        write_line(f"{record.id} is {record.status}")
