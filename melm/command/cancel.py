"""`melm cancel`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(commands, "cancel", run, "cancel a fit of a service", "melm cancel fit_… --keep-best")
    command.add_argument("fit", metavar="FIT", help="a fit's id")
    command.add_argument("--keep-best", action="store_true", help="end it early with the best start so far")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Cancel a fit, and print its status."""
    from melm.command.output import write_json, write_line
    from melm.remote import Client

    with Client(options.url) as client:
        record = client.fits.attach(options.fit).cancel(keep_best=options.keep_best).record
    if options.json:
        write_json(record)
    else:
        write_line(f"{record.id} is {'ending early' if record.is_active else record.status}")
