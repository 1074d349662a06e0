"""`melm plot`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_model, add_url
from melm.extras import check_extra

if TYPE_CHECKING:
    from melm.command.options import Commands

PIXELS_PER_UNIT = 2.0  # sharp on high-resolution screens


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "plot",
        run,
        "draw the classes in a model's projection",
        "melm plot model.npz --output plot.png",
        "melm plot champion --url http://127.0.0.1:8000 --output - > plot.svg",
    )
    add_model(command)
    command.add_argument(
        "--output",
        metavar="FILE",
        default="plot.svg",
        help="a .svg or .png file; - writes SVG to standard output (%(default)s)",
    )
    add_url(command, local=True)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Write the plot; with `--json` its data."""
    from melm.command.failure import CommandError
    from melm.command.model_source import open_model
    from melm.command.output import STANDARD, write_bytes, write_json

    suffix = ".svg" if options.output == STANDARD else Path(options.output).suffix.lower()
    if suffix not in (".svg", ".png"):
        raise CommandError(f"{options.output}: name a file that ends in .svg or .png")
    if options.json:
        write_json(open_model(options).plotted())
        return
    drawing = open_model(options).plot()
    write_bytes(as_png(drawing) if suffix == ".png" else drawing.encode(), options.output)


def as_png(svg: str) -> bytes:
    """The plot as PNG."""
    check_extra("service", "a picture in pixels")
    from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, background="white", zoom=PIXELS_PER_UNIT))
