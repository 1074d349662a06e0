"""`melm fit`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from service.commands.options import add_columns, add_command, add_json, add_table, add_url

if TYPE_CHECKING:
    from melm.remote import Fit, Model
    from service.commands.options import Commands
    from service.commands.table_file import TableFile

LOCAL_OUTPUT = "model.npz"
FOLDS = 5


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "fit",
        run,
        "fit a projection to labeled rows",
        "melm fit iris.csv --target species --starts 4",
        "melm fit iris.csv --target species --starts 4 --watch --url http://127.0.0.1:8000",
    )
    add_table(command, help="the column of labels; an npz file has its own")
    add_columns(command)
    command.add_argument("--method", default="melm", help="how the projection is found (%(default)s)")
    command.add_argument("--components", dest="n_components", type=int, metavar="K", help="its dimensions")
    command.add_argument("--starts", dest="n_starts", type=int, metavar="N", help="starts of the optimizer")
    command.add_argument("--gamma", type=gamma, help="kernel width: a number, several separated by commas, or auto")
    command.add_argument("--seed", type=int, metavar="N", help="equal seeds give equal models")
    command.add_argument(
        "--folds", type=int, default=FOLDS, metavar="N", help="of the validation; 0 does without it (%(default)s)"
    )
    command.add_argument("--output", metavar="FILE", help=f"the model's file (on this machine {LOCAL_OUTPUT})")
    command.add_argument("--watch", action="store_true", help="with --url: follow the fit until it ends")
    add_url(command, local=True)
    add_json(command)


def gamma(given: str) -> float | list[float] | str:
    """A kernel width, or several to choose from."""
    if given == "auto":
        return given
    widths = [float(width) for width in given.split(",")]
    return widths[0] if len(widths) == 1 else widths


def run(options: argparse.Namespace) -> None:
    """Fit here or there."""
    from service.commands.failure import CommandError, ExitCode
    from service.commands.table_file import TableFile

    if options.url is not None and options.output is not None and not options.watch:
        raise CommandError("--output needs --watch: the model is there when the fit has ended", ExitCode.USAGE)
    names = ("n_components", "n_starts", "gamma", "seed")
    params = {name: value for name in names if (value := getattr(options, name)) is not None}
    file = TableFile(options, labeled=True)
    if options.url is None:
        fit_here(options, file, params)
    else:
        fit_there(options, file, params)


def fit_here(options: argparse.Namespace, file: TableFile, params: dict[str, Any]) -> None:
    """Fit on this machine, and write the model to a file."""
    from melm import model_file
    from service.commands.facts import facts_of_model
    from service.commands.local_fit import fit_locally
    from service.commands.output import write_bytes, write_facts, write_json

    output = options.output or LOCAL_OUTPUT
    model = fit_locally(options.method, file.training_rows(), params, options.folds)
    write_bytes(model_file.dump(model), output)
    if options.json:
        write_json({"model": output, "card": model.card})
    else:
        write_facts(facts_of_model(output, model.card))


def fit_there(options: argparse.Namespace, file: TableFile, params: dict[str, Any]) -> None:
    """Submit the fit to a service; follow it where that is asked for."""
    from melm.remote import Client
    from service.commands.facts import facts_of_fit, facts_of_model
    from service.commands.output import write_facts, write_json

    file.training_rows()  # what is wrong with the file is best said with its lines
    with Client(options.url) as client:
        dataset = client.datasets.upload_table(
            file.content,
            media_type=file.media_type,
            target=file.written.target,
            columns=file.written.columns,
            delimiter=file.written.delimiter,
            decimal=file.written.decimal,
            encoding=file.written.encoding,
            missing_values=file.written.missing_values,
        )
        validation = {"folds": options.folds} if options.folds else None
        fit = client.fits.submit(dataset, method=options.method, params=params, validation=validation)
        document: Any = fit.record
        facts = facts_of_fit(fit.record)
        if options.watch:
            model = wait(fit, options.url)
            if options.output is not None:
                model.download(options.output)
            document = model.describe()
            facts = facts_of_model(model.id, document["card"])
    if options.json:
        write_json(document)
    else:
        write_facts(facts)


def wait(fit: Fit, url: str) -> Model:
    """Follow the fit to its end; Ctrl-C leaves it running."""
    from melm.remote import Interrupted

    try:
        return fit.wait(on_interrupt="detach")
    except Interrupted:
        message = f"{fit.id} goes on; 'melm show {fit.id} --url {url}' says how it stands"
        raise Interrupted(fit.id, message, canceled=False) from None
