"""What the parsers of several subcommands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DEFAULT_URL = "http://127.0.0.1:8000"
Run: TypeAlias = Callable[[argparse.Namespace], None]


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Examples keep their lines, and names stand beside what they mean."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)
        self._action_max_length = 14  # argparse forgets the indent of subcommands when it looks for the widest


def add_command(commands: Commands, name: str, run: Run, purpose: str, *examples: str) -> argparse.ArgumentParser:
    """The parser of a subcommand, with its purpose and examples."""
    lines = "\n".join(f"  {example}" for example in examples)
    command = commands.add_parser(
        name,
        help=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=f"example{'s' if len(examples) > 1 else ''}:\n{lines}",
        formatter_class=Formatter,
    )
    command.set_defaults(run=run)
    return command


def add_url(command: argparse.ArgumentParser, *, local: bool) -> None:
    """Where the work is done; `local` commands do without a service."""
    if local:
        command.add_argument("--url", metavar="URL", help="let the service at this address do it")
    else:
        command.add_argument("--url", metavar="URL", default=DEFAULT_URL, help="the service (%(default)s)")


def add_json(command: argparse.ArgumentParser) -> None:
    """For scripts."""
    command.add_argument("--json", action="store_true", help="write JSON, for scripts")


def add_table(command: argparse.ArgumentParser, **target: Any) -> None:
    """A table, and which of its columns holds labels."""
    command.add_argument(
        "table",
        metavar="FILE",
        help="CSV with a header row, Excel, npz or Parquet; - reads standard input; fit takes a folder of them too",
    )
    command.add_argument("--target", metavar="COLUMN", **target)
    written = command.add_argument_group("how CSV is written, where that is not found out")
    written.add_argument("--delimiter", metavar="CHAR", help="what separates cells")
    written.add_argument("--decimal", metavar="CHAR", help="what stands before decimals")
    written.add_argument("--sheet", metavar="NAME", help="of an Excel workbook; the first with cells by default")
    written.add_argument("--encoding", metavar="NAME", help="of the file, such as cp1252")
    written.add_argument(
        "--missing-values", metavar="TEXT", action="append", default=[], help="stands for a gap; may be repeated"
    )


def add_columns(command: argparse.ArgumentParser) -> None:
    """Roles of columns, where the proposed ones are not right, and what is done about gaps."""
    command.add_argument(
        "--columns",
        metavar="NAME=ROLE",
        type=column_role,
        action="append",
        default=[],
        help="numeric, categorical, time, id, group, weight, info, ignore or target; NAME may be a pattern "
        "such as q*; may be repeated",
    )
    command.add_argument(
        "--missing",
        choices=["impute", "refuse"],
        default="impute",
        help="fill missing values in, or refuse them (%(default)s)",
    )
    command.add_argument("--drop-missing", action="store_true", help="leave out rows that lack a feature")
    command.add_argument(
        "--unlabeled", choices=["drop", "refuse"], default="drop", help="rows without a label (%(default)s)"
    )
    command.add_argument(
        "--rare-classes",
        choices=["refuse", "drop", "merge"],
        default="refuse",
        help="classes of a single row (%(default)s)",
    )
    command.add_argument(
        "--day-first", action=argparse.BooleanOptionalAction, help="in dates such as 03/04/2024, where no other tells"
    )


def column_role(given: str) -> tuple[str, str]:
    """A column and its role."""
    name, separator, role = given.rpartition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{given!r} is not NAME=ROLE")
    return name, role


def add_model(command: argparse.ArgumentParser) -> None:
    """A model, here or on a service."""
    command.add_argument("model", metavar="MODEL", help="a model's file; with --url a model's id or alias")
