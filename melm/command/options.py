"""What the parsers of several subcommands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from melm.tables.options import TEXTS, Missing, RareClasses, ReadOptions, Unlabeled

if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"

DEFAULT_URL = "http://127.0.0.1:8000"
Run: TypeAlias = Callable[[argparse.Namespace], None]


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Examples keep their lines, and names stand beside what they mean."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)
        self._action_max_length = 14  # argparse forgets the indent of subcommands when it looks for the widest


class CommandParser(argparse.ArgumentParser):
    """A parser that may add some options only when it is chosen: it takes time to load what they are read from."""

    _later: Callable[[argparse.ArgumentParser], None] | None = None

    def add_later(self, add: Callable[[argparse.ArgumentParser], None]) -> None:
        """Let `add` add options as soon as this command is chosen, or all options are listed."""
        self._later = add

    def fill(self) -> None:
        """Add them."""
        later, self._later = self._later, None
        if later is not None:
            later(self)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # as argparse calls it
        """Parse, with all options."""
        self.fill()
        return super().parse_known_args(args, namespace)


def add_command(commands: Commands, name: str, run: Run, purpose: str, *examples: str) -> CommandParser:
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


def as_help(text: str, *more: str) -> str:
    """A sentence in the form that help texts have."""
    return "; ".join([f"{text[0].lower()}{text[1:].rstrip('.')}", *more])


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
        help="CSV with a header row, Excel, JSON, npz, Arrow or Parquet; - is standard input; fit takes a folder too",
    )
    add_reading(command, **target)


def add_reading(command: argparse.ArgumentParser, **target: Any) -> None:
    """How a table is read; the texts are those of all front ends."""
    command.add_argument("--target", metavar="COLUMN", **target)
    written = command.add_argument_group("how a file is written, where that is not found out")
    for name, metavar in (("delimiter", "CHAR"), ("decimal", "CHAR"), ("encoding", "NAME"), ("sheet", "NAME")):
        written.add_argument(f"--{name}", metavar=metavar, help=as_help(TEXTS[name]))
    written.add_argument(
        "--missing-values",
        metavar="TEXT",
        action="append",
        default=[],
        help=as_help(TEXTS["missing_values"], "may be repeated"),
    )


def add_columns(command: argparse.ArgumentParser) -> None:
    """Roles of columns, where the proposed ones are not right, and what becomes of rows."""
    command.add_argument(
        "--columns",
        metavar="NAME=ROLE",
        type=column_role,
        action="append",
        default=[],
        help=as_help(TEXTS["columns"], "may be repeated"),
    )
    for name, choices in (("missing", Missing), ("unlabeled", Unlabeled), ("rare_classes", RareClasses)):
        command.add_argument(
            f"--{name.replace('_', '-')}",
            choices=get_args(choices),
            default=getattr(ReadOptions, name),
            help=f"{as_help(TEXTS[name])} (%(default)s)",
        )
    command.add_argument("--drop-missing", action="store_true", help=as_help(TEXTS["drop_missing"]))
    command.add_argument("--day-first", action=argparse.BooleanOptionalAction, help=as_help(TEXTS["day_first"]))


def column_role(given: str) -> tuple[str, str]:
    """A column and its role."""
    name, separator, role = given.rpartition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{given!r} is not NAME=ROLE")
    return name, role


def add_model(command: argparse.ArgumentParser) -> None:
    """A model, here or on a service."""
    command.add_argument("model", metavar="MODEL", help="a model's file; with --url a model's id or alias")
