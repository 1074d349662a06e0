"""`melm score`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_model, add_table, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "score",
        run,
        "score a model on labeled rows",
        "melm score model.npz iris.csv --target species",
    )
    add_model(command)
    add_table(command, help="the column of labels; an npz file has its own")
    add_url(command, local=True)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Print the scores of a model."""
    from melm.command.model_source import open_model
    from melm.command.output import text, write_columns, write_facts, write_json
    from melm.command.table_file import TableFile

    model, file = open_model(options), TableFile(options, labeled=True)
    scores = model.score(file)
    if options.json:
        write_json({"model_id": model.id, **scores})
        return
    names = ("n_rows", "balanced_accuracy", "accuracy", "log_loss", "divergence")
    write_facts({name.removeprefix("n_").replace("_", " "): text(scores[name]) for name in names})
    classes = list(map(str, scores["classes"]))
    header = ["true \\ predicted", *classes]
    write_columns(header, [[label, *counts] for label, counts in zip(classes, scores["confusion"], strict=True)])
