"""`melm datasets`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands, "datasets", run, "list the datasets of a service, newest first", "melm datasets --json"
    )
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """List them."""
    from melm.command.output import write_columns, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        datasets = list(client.datasets)
    if options.json:
        write_json(datasets)
        return
    rows = [(each.id, each.n_rows, each.n_features, len(each.classes), each.created_at, each.name) for each in datasets]
    write_columns(("id", "rows", "features", "classes", "created", "name"), rows)
