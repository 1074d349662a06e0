"""`melm predict` and `melm transform`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from melm.command.options import add_command, add_json, add_model, add_table, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parsers."""
    predict = add_command(
        commands,
        "predict",
        run_predict,
        "predict a label for each row of a table",
        "melm predict model.npz iris.csv --target species > labels.csv",
        "melm predict champion iris.csv --target species --url http://127.0.0.1:8000",
    )
    transform = add_command(
        commands,
        "transform",
        run_transform,
        "project the rows of a table",
        "melm transform model.npz iris.csv --target species --output projected.npz",
        "cat iris.csv | melm transform model.npz - --target species | head",
    )
    predict.add_argument("--probabilities", action="store_true", help="add the probability of each class")
    predict.add_argument(
        "--log-density",
        action="store_true",
        help="add the log density of each row: low far from all training data",
    )
    for command in (predict, transform):
        add_model(command)
        add_table(command, help="a column of labels, which is left out")
        command.add_argument(
            "--output", metavar="FILE", default="-", help="a .csv, .npz or .json file; - writes CSV to standard output"
        )
        add_url(command, local=True)
        add_json(command)


def run_predict(options: argparse.Namespace) -> None:
    """Predict a label for each row."""
    if not (options.probabilities or options.log_density):
        answer("predict", options)
        return
    from melm.command.model_source import Columns, open_model
    from melm.command.output import media_type_of, write_bytes
    from melm.command.table_file import TableFile

    media_type = media_type_of(options.output, as_json=options.json)
    model, file = open_model(options), TableFile(options)
    columns = Columns(options.probabilities, options.log_density)
    write_bytes(model.predict(file, media_type, columns), options.output)


def run_transform(options: argparse.Namespace) -> None:
    """Project the rows."""
    answer("transform", options)


def answer(question: str, options: argparse.Namespace) -> None:
    """Apply the model to the rows, and write the result."""
    from melm.command.model_source import open_model
    from melm.command.output import media_type_of, write_bytes
    from melm.command.table_file import TableFile

    media_type = media_type_of(options.output, as_json=options.json)
    model, file = open_model(options), TableFile(options)
    write_bytes(model.answer(question, file, media_type), options.output)
