"""`melm models`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(commands, "models", run, "list the models of a service, newest first", "melm models --json")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """List them."""
    from melm.command.output import write_columns, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        records = [model.record for model in client.models]
    if options.json:
        write_json(records)
        return
    rows = [(record.id, record.method, record.created_at, record.name) for record in records]
    write_columns(("id", "method", "created", "name"), rows)
