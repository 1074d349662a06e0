"""`melm rows`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "rows",
        run,
        "download the rows of a dataset from a service",
        "melm rows ds_… > table.csv",
        "melm rows ds_… --row 0 --row 17 --json",
    )
    command.add_argument("dataset", metavar="DATASET", help="a dataset's id")
    command.add_argument(
        "--row",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="only this row number, from 0; may be repeated",
    )
    command.add_argument(
        "--id", metavar="TEXT", action="append", default=[], help="only the row with this id; may be repeated"
    )
    command.add_argument("--output", metavar="FILE", default="-", help="a .csv file; - is standard output")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Write rows as CSV with unchanged text, or as JSON by columns."""
    import csv
    import io

    from melm.command.output import write_bytes, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        columns = client.datasets.rows(options.dataset, rows=options.row, ids=options.id)
    if options.json:
        write_json(columns)
        return
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_bytes(text.getvalue().encode(), options.output)
