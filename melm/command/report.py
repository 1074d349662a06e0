"""`melm report`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_model, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "report",
        run,
        "write a model's card as one HTML file: verdict, picture, validation, loadings, limits",
        "melm report model.npz --output report.html",
        "melm report champion --url http://127.0.0.1:8000",
    )
    add_model(command)
    command.add_argument(
        "--output", metavar="FILE", default="report.html", help="the file; - is standard output (%(default)s)"
    )
    add_url(command, local=True)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Write the report; with `--json` the model as a dict."""
    from melm.command.model_source import open_model
    from melm.command.output import write_bytes, write_json, write_line

    model = open_model(options)
    if options.json:
        write_json(model.describe())
        return
    write_bytes(model.report().encode(), options.output)
    if options.output != "-":
        write_line(options.output)
