"""The `melm` command. What a subcommand needs is imported when it runs, so that `melm --help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from melm.command import (
    cancel,
    completion,
    failure,
    fit,
    fits,
    inference,
    inspect,
    keys,
    models,
    plot,
    score,
    show,
    up,
)
from melm.command.options import Formatter

DESCRIPTION = """Supervised linear projections that people can look at.

fit, predict, transform, score and plot work on this machine, or on a service named by --url.
Services that ask for a key take it from the variable MELM_API_KEY."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; answers its exit code."""
    options = parser().parse_args(arguments)
    with failure.explained() as outcome:
        options.run(options)
    return outcome.exit_code


def parser() -> argparse.ArgumentParser:
    """All subcommands."""
    top = argparse.ArgumentParser(
        prog="melm", description=DESCRIPTION, epilog=failure.EXIT_CODES, formatter_class=Formatter
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (up, inspect, fit, inference, score, plot, models, fits, show, cancel, keys, completion):
        command.add(commands)
    return top
