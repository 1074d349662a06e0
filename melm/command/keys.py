"""`melm keys`: the API keys of a service."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from melm.command.failure import CommandError, say
from melm.command.options import Formatter, add_command, add_json
from melm.command.up import default_data_dir
from melm.extras import check_extra

if TYPE_CHECKING:
    from melm.command.options import Commands

PURPOSE = "create, list and revoke the keys that a service asks for"


def add(commands: Commands) -> None:
    """Add the parsers."""
    keys = commands.add_parser(
        "keys",
        help=PURPOSE,
        description=f"{PURPOSE[0].upper()}{PURPOSE[1:]}.",
        epilog="examples:\n  melm keys create laptop\n  melm keys list",
        formatter_class=Formatter,
    )
    actions = keys.add_subparsers(title="actions", required=True, metavar="ACTION")
    add_create(actions)
    add_list(actions)
    add_revoke(actions)


def add_create(actions: Commands) -> None:
    """Add the parser of `create`."""
    command = add_command(
        actions,
        "create",
        create,
        "create a key and print it (it cannot be shown again)",
        "melm keys create laptop",
        "MELM_API_KEY=$(melm keys create batch --tenant acme --scope predict)",
    )
    command.add_argument("name", metavar="NAME", help="a name for the key")
    command.add_argument(
        "--tenant",
        default="default",
        metavar="NAME",
        help="the tenant of the key (%(default)s)",
    )
    command.add_argument(
        "--scope",
        choices=["predict", "fit", "admin"],
        default="fit",
        help="use models; also create and delete; also read metrics (%(default)s)",
    )
    add_file(command)


def add_list(actions: Commands) -> None:
    """Add the parser of `list`."""
    command = add_command(actions, "list", list_keys, "list the keys, without their secrets", "melm keys list --json")
    add_file(command)
    add_json(command)


def add_revoke(actions: Commands) -> None:
    """Add the parser of `revoke`."""
    command = add_command(
        actions, "revoke", revoke, "make a key worthless; the tenant's data stay", "melm keys revoke laptop"
    )
    command.add_argument("name", metavar="NAME", help="the name of the key")
    add_file(command)


def add_file(command: argparse.ArgumentParser) -> None:
    """Add the option for the file of keys."""
    command.add_argument(
        "--file",
        type=Path,
        default=default_file(),
        metavar="FILE",
        help="the file of keys, by default MELM_KEYS_FILE or that of `melm up` (%(default)s)",
    )


def default_file() -> Path:
    """The file that a service in the same environment reads."""
    return Path(os.environ.get("MELM_KEYS_FILE") or default_data_dir() / "keys")


def create(options: argparse.Namespace) -> None:
    """Print the key alone on standard output, for scripts; remarks go to standard error."""
    from melm.command.output import write_line
    from service.security.keys import Scope
    from service.security.keys_file import KeysFile

    is_first = not options.file.exists()
    with explained():
        token = KeysFile(options.file).create(options.name, options.tenant, Scope[options.scope.upper()])
    write_line(token)
    say(f"this is the only time the key is shown; its hash is kept in {options.file}")
    if is_first:
        say("the file is new: restart a service that runs without keys, so that it requires them")


def list_keys(options: argparse.Namespace) -> None:
    """List the keys in the order of creation."""
    from melm.command.output import write_columns, write_json
    from service.security.keys_file import KeysFile

    with explained():
        keys = KeysFile(options.file).read()
    rows = [(key.name, key.principal.tenant, key.principal.scope.name.lower(), key.created_at) for key in keys]
    header = ("name", "tenant", "scope", "created")
    if options.json:
        write_json([dict(zip((*header[:3], "created_at"), row, strict=True)) for row in rows])
    else:
        write_columns(header, rows)


def revoke(options: argparse.Namespace) -> None:
    """Remove a key from the file."""
    from service.security.keys_file import KeysFile

    file = KeysFile(options.file)
    with explained():
        file.revoke(options.name)
        say(f"{options.name} is revoked" + ("" if file.read() else "; no key is left: all requests will be refused"))


@contextmanager
def explained() -> Iterator[None]:
    """Turn an invalid file or name into a CommandError."""
    check_extra("service", "melm keys")
    from worker.store.errors import SettingsError

    try:
        yield
    except SettingsError as error:
        raise CommandError(str(error)) from None
