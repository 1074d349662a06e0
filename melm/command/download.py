"""`melm download` and `melm upload`: the file of a model, from and to a service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parsers."""
    download = add_command(
        commands,
        "download",
        run_download,
        "write a model of a service to a file, which all commands on this machine can use",
        "melm download champion --output champion.npz",
    )
    download.add_argument("model", metavar="MODEL", help="a model's id or alias")
    download.add_argument("--output", metavar="FILE", default="model.npz", help="the file (%(default)s)")
    upload = add_command(
        commands, "upload", run_upload, "bring a model's file to a service", "melm upload model.npz --alias champion"
    )
    upload.add_argument("model", metavar="MODEL", help="a model's file")
    upload.add_argument("--name", metavar="TEXT", help="a name for the model")
    upload.add_argument("--alias", metavar="NAME", help="an alias for the model")
    for command in (download, upload):
        add_url(command, local=False)
        add_json(command)


def run_download(options: argparse.Namespace) -> None:
    """Write the file."""
    from melm.command.output import write_bytes, write_json, write_line
    from melm.remote import Client

    with Client(options.url) as client:
        content = client.models[options.model].file()
    write_bytes(content, options.output)
    if options.json:
        write_json({"model": options.output})
    else:
        write_line(options.output)


def run_upload(options: argparse.Namespace) -> None:
    """Upload the file, and print the id of the model."""
    from melm.command.output import write_facts, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        model = client.models.upload(options.model, name=options.name)
        if options.alias is not None:
            model.alias(options.alias)
    facts = {"model": model.id, "alias": options.alias, "page": model.page}
    if options.json:
        write_json(facts)
    else:
        write_facts(facts)
