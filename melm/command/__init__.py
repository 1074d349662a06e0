"""The `melm` command. Each subcommand imports its dependencies when it runs, so that `melm --help` is fast."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from melm.command import (
    cancel,
    compare,
    completion,
    datasets,
    delete,
    download,
    failure,
    fit,
    fits,
    inference,
    inspect,
    keys,
    methods,
    models,
    plot,
    report,
    retry,
    rows,
    score,
    show,
    up,
)
from melm.command.options import CommandParser, Formatter

DESCRIPTION = """Supervised linear projections that people can look at.

inspect, fit, compare, predict, transform, score, plot, report and methods work on this machine, or on a service named
by --url.
If the service requires a key, set the environment variable MELM_API_KEY."""

COMMANDS = (  # in the order of the help
    *(up, inspect, fit, compare, inference, score, plot, report, methods),
    *(models, datasets, fits, show, rows, download, cancel, retry, delete, keys, completion),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns its exit code."""
    options = parser().parse_args(arguments)
    with failure.explained() as outcome:
        options.run(options)
    return outcome.exit_code


class Version(argparse.Action):
    """`--version`. The version is looked up only if it is requested."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        import melm

        sys.stdout.write(f"melm {melm.__version__}\n")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """All subcommands."""
    top = argparse.ArgumentParser(
        prog="melm", description=DESCRIPTION, epilog=failure.EXIT_CODES, formatter_class=Formatter
    )
    top.add_argument("--version", action=Version, help="print the version and exit")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=CommandParser)
    for command in COMMANDS:
        command.add(commands)
    return top
