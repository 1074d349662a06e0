"""`melm delete`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands
    from melm.remote import Client


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "delete",
        run,
        "delete models, datasets and aliases of a service",
        "melm delete mdl_… ds_…",
        "melm delete champion --json",
    )
    command.add_argument(
        "things", metavar="THING", nargs="+", help="id of a model or a dataset, or an alias (its model is kept)"
    )
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Delete resources one by one, and print them."""
    from melm.command.output import write_json, write_line
    from melm.remote import Client

    with Client(options.url) as client:
        for thing in options.things:
            delete(client, thing)
            if not options.json:
                write_line(f"{thing} is deleted")
    if options.json:
        write_json({"deleted": options.things})


def delete(client: Client, thing: str) -> None:
    """Delete a resource by its id or alias."""
    from melm.command.failure import CommandError

    if thing.startswith("fit_"):
        raise CommandError(f"{thing} is a fit: a fit cannot be deleted; melm cancel ends a running one")
    if thing.startswith("ds_"):
        client.datasets.delete(thing)
    elif thing.startswith("mdl_"):
        client.models[thing].delete()
    else:
        client.models.delete_alias(thing)
