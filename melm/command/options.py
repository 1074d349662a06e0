"""Options that several subcommands share."""

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
    """Keeps the lines of examples, and aligns options and help texts."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)
        self._action_max_length = 14  # argparse ignores the indent of subcommands when it computes the width


class CommandParser(argparse.ArgumentParser):
    """A parser that adds some options only when it is used, because their definitions are slow to import."""

    _later: Callable[[argparse.ArgumentParser], None] | None = None

    def add_later(self, add: Callable[[argparse.ArgumentParser], None]) -> None:
        """Call `add` when this command is used, or when all options are listed."""
        self._later = add

    def fill(self) -> None:
        """Add the options of `add_later`."""
        later, self._later = self._later, None
        if later is not None:
            later(self)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # as argparse calls it
        """Parse with all options."""
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
    """A sentence in the form of help texts."""
    return "; ".join([f"{text[0].lower()}{text[1:].rstrip('.')}", *more])


def add_url(command: argparse.ArgumentParser, *, local: bool) -> None:
    """Add `--url`; with `local` the default is this machine."""
    if local:
        command.add_argument("--url", metavar="URL", help="use the service at this address instead of this machine")
    else:
        command.add_argument("--url", metavar="URL", default=DEFAULT_URL, help="the service's address (%(default)s)")


def add_json(command: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    command.add_argument("--json", action="store_true", help="write JSON, for scripts")


def add_table(command: argparse.ArgumentParser, **target: Any) -> None:
    """Add the table and its target."""
    command.add_argument(
        "table",
        metavar="FILE",
        help="CSV with a header row, Excel, JSON, npz, Arrow or Parquet; - is standard input; fit takes a folder too",
    )
    add_reading(command, **target)


def add_reading(command: argparse.ArgumentParser, **target: Any) -> None:
    """Add the options for reading a table, with the texts that all front ends share."""
    command.add_argument("--target", metavar="COLUMN", **target)
    written = command.add_argument_group("the format of a file, if it is not detected correctly")
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
    """Add the options for roles of columns and for the treatment of rows."""
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
    """Add the model, in a file or on a service."""
    command.add_argument("model", metavar="MODEL", help="a model's file; with --url a model's id or alias")
