"""`melm fit`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from melm.command.options import add_columns, add_command, add_json, add_table, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands
    from melm.command.table_file import TableFile
    from melm.model import Model as LocalModel
    from melm.remote import Client, Dataset, Fit, Model
    from service.intake.upload import Upload

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
    command.add_argument(
        "--regularization",
        choices=("path", "none"),
        help="path, the default: a picture that holds on new rows; none: the highest divergence, as in the paper",
    )
    command.add_argument("--starts", dest="n_starts", type=int, metavar="N", help="starts of the optimizer")
    command.add_argument("--gamma", type=gamma, help="kernel width: a number, several separated by commas, or auto")
    command.add_argument("--seed", type=int, metavar="N", help="equal seeds give equal models")
    command.add_argument(
        "--folds", type=int, default=FOLDS, metavar="N", help="of the validation; 0 does without it (%(default)s)"
    )
    command.add_argument(
        "--permutations", type=int, default=0, metavar="N", help="repeat it all on shuffled labels, for a p-value"
    )
    command.add_argument(
        "--bootstraps", type=int, default=0, metavar="N", help="fit to rows drawn anew: is the projection stable?"
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
    from melm.command.column_roles import say_roles
    from melm.command.failure import CommandError, ExitCode
    from melm.command.streamed_fit import is_streamed
    from melm.command.table_file import TableFile

    if options.url is not None and options.output is not None and not options.watch:
        raise CommandError("--output needs --watch: the model is there when the fit has ended", ExitCode.USAGE)
    if not options.folds and (options.permutations or options.bootstraps):
        raise CommandError(
            "--permutations and --bootstraps need --folds: they are part of the validation", ExitCode.USAGE
        )
    if is_streamed(options):
        keep(options, fit_streamed(options))
        return
    file = TableFile(options, labeled=True)
    rows = file.training_rows()  # before a service is asked: what is wrong with a file is best said with its lines
    if rows.columns is not None:
        say_roles([column.model_dump() for column in rows.columns])
    if options.url is None:
        fit_here(options, rows)
    else:
        fit_there(options, file)


def params_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the method, as far as they were given."""
    names = ("n_components", "n_starts", "gamma", "seed")
    params = {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.regularization is not None:
        params["regularization"] = None if options.regularization == "none" else options.regularization
    return params


def validation_of(options: argparse.Namespace) -> dict[str, Any] | None:
    """How the fit is judged."""
    names = ("folds", "permutations", "bootstraps")
    return {**{name: getattr(options, name) for name in names}, "ceiling": True} if options.folds else None


def fit_here(options: argparse.Namespace, rows: Upload) -> None:
    """Fit on this machine, and write the model to a file."""
    from melm.command.local_fit import fit_locally
    from service.intake.upload import labeled_rows

    keep(options, fit_locally(options.method, labeled_rows(rows), params_of(options), validation_of(options)))


def fit_streamed(options: argparse.Namespace) -> LocalModel:
    """Fit on this machine to rows that stay in files."""
    from melm.command.local_fit import fit_locally
    from melm.command.streamed_fit import open_streamed

    data = open_streamed(options, options.seed or 0)
    return fit_locally(options.method, data, params_of(options), validation_of(options))


def keep(options: argparse.Namespace, model: LocalModel) -> None:
    """Write a model to its file, and say what it is worth."""
    from melm.command.facts import facts_of_model
    from melm.command.output import write_bytes, write_facts, write_json
    from melm.evidence.verdict import with_verdict
    from melm.model import file as model_file

    output = options.output or LOCAL_OUTPUT
    write_bytes(model_file.dump(model), output)
    card = with_verdict(model.card).model_dump(mode="json")
    if options.json:
        write_json({"model": output, "card": card})
    else:
        write_facts(facts_of_model(output, card))


def fit_there(options: argparse.Namespace, file: TableFile) -> None:
    """Submit the fit to a service, with the file as it is; follow it where that is asked for."""
    from melm.command.facts import facts_of_fit, facts_of_model
    from melm.command.output import write_facts, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        dataset = client.datasets.upload_file(file.content, **file.options)
        fit = submit(client, dataset, options)
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


def submit(client: Client, dataset: Dataset, options: argparse.Namespace) -> Fit:
    """Submit the fit; Ctrl-C just then may come before or after the service has taken it, and says so."""
    try:
        return client.fits.submit(
            dataset, method=options.method, params=params_of(options), validation=validation_of(options)
        )
    except KeyboardInterrupt:
        from melm.command.failure import CommandError, ExitCode

        message = f"interrupted while submitting; 'melm fits --url {options.url}' says whether the fit was taken"
        raise CommandError(message, ExitCode.INTERRUPTED) from None


def wait(fit: Fit, url: str) -> Model:
    """Follow the fit to its end; Ctrl-C leaves it running."""
    from melm.remote import Interrupted

    try:
        return fit.wait(on_interrupt="detach")
    except Interrupted:
        message = f"{fit.id} goes on; 'melm show {fit.id} --url {url}' says how it stands"
        raise Interrupted(fit.id, message, canceled=False) from None
