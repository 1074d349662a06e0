"""`melm inspect`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_columns, add_command, add_json, add_table, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "inspect",
        run,
        "show how a table would be read, and which problems it has",
        "melm inspect iris.csv",
        "melm inspect iris.csv --target species --json",
    )
    add_table(command, help="the column of labels; by default the most likely one is shown")
    add_columns(command)
    add_url(command, local=True)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Inspect the file on this machine or on a service."""
    from melm.command.facts import facts_of_reading
    from melm.command.output import write_facts, write_json
    from melm.command.table_file import TableFile

    reading = TableFile(options).inspect(options.url)
    if options.json:
        write_json(reading)
    else:
        write_facts(facts_of_reading(reading))
