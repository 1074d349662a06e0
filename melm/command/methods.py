"""`melm methods`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "methods",
        run,
        "list the methods, or the parameters of one method",
        "melm methods",
        "melm methods lda",
    )
    command.add_argument("method", metavar="NAME", nargs="?", help="list the parameters of this method")
    add_url(command, local=True)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """List all methods, or the parameters of one."""
    from melm.command.failure import CommandError, ExitCode
    from melm.command.fit_options import as_word, option_of
    from melm.command.output import write_columns, write_facts, write_json

    methods = methods_here() if options.url is None else methods_there(options.url)
    if options.method is None:
        if options.json:
            write_json(methods)
        else:
            write_columns(("method", "title"), [(each["name"], each["title"]) for each in methods])
        return
    found = next((each for each in methods if each["name"] == options.method), None)
    if found is None:
        names = ", ".join(each["name"] for each in methods)
        raise CommandError(f"{options.method!r} is not a method; methods: {names}", ExitCode.NOT_FOUND)
    if options.json:
        write_json(found)
        return
    write_facts({"method": f"{found['name']}, {found['title']}", "what it does": found["description"]})
    rows = [(option_of(each["name"]), as_word(each["default"]), each["description"]) for each in found["parameters"]]
    write_columns(("option", "default", "what it says"), rows)


def methods_here() -> list[dict[str, Any]]:
    """The methods on this machine, in the form of the service."""
    from service.methods import all_methods

    return [method.model_dump(mode="json") for method in all_methods().data]


def methods_there(url: str) -> list[dict[str, Any]]:
    """The methods of a service."""
    from dataclasses import asdict

    from melm.remote import Client

    with Client(url) as client:
        return [asdict(method) for method in client.methods()]
