"""`melm completion`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import CommandParser, add_command
from melm.extras import check_extra

if TYPE_CHECKING:
    from melm.command.options import Commands

FILES = {"FILE", "MODEL"}
SHELLS = ("bash", "zsh", "fish", "tcsh")


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "completion",
        run,
        "print a shell script that completes commands and options",
        'eval "$(melm completion bash)"',
    )
    command.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    check_extra("service", "melm completion")
    import shtab

    from melm.command import parser
    from melm.command.output import write_line

    top = parser()
    for action in actions_of(top):
        if action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # the interface of shtab
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    write_line(shtab.complete(top, options.shell))


def actions_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """All arguments of a parser and its subcommands."""
    found = []
    if isinstance(parser, CommandParser):
        parser.fill()
    for action in parser._actions:
        found.append(action)
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found += actions_of(command)
    return found
