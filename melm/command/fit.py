"""`melm fit`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from melm.command.options import add_columns, add_command, add_json, add_table, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands
    from melm.command.table_file import TableFile
    from melm.model import Model as LocalModel
    from melm.remote import Client, Dataset, Fit, Model
    from service.intake.upload import Upload

LOCAL_OUTPUT = "model.npz"
MAX_NAME = 200  # of a fit, on a service


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
    command.add_later(add_options)
    command.add_argument("--output", metavar="FILE", help=f"the model's file (on this machine {LOCAL_OUTPUT})")
    command.add_argument("--watch", action="store_true", help="with --url: follow the fit until it ends")
    add_url(command, local=True)
    add_json(command)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that are derived from the methods."""
    from melm.command.fit_options import add_method, add_request, add_validation

    add_method(command)
    add_validation(command)
    add_request(command)


def run(options: argparse.Namespace) -> None:
    """Fit on this machine or on a service."""
    from melm.command.column_roles import say_roles
    from melm.command.failure import CommandError, ExitCode
    from melm.command.fit_options import ask_of
    from melm.command.streamed_fit import is_streamed
    from melm.command.table_file import TableFile

    if options.url is not None and options.output is not None and not options.watch:
        raise CommandError("--output needs --watch: the model is there when the fit has ended", ExitCode.USAGE)
    ask = ask_of(options)
    if is_streamed(options):
        keep(options, fit_streamed(options, ask))
        return
    file = TableFile(options, labeled=True)
    rows = file.training_rows()  # before the upload, because local errors have line numbers
    if rows.columns is not None:
        say_roles([column.model_dump() for column in rows.columns])
    if options.url is None:
        fit_here(options, rows, ask)
    else:
        fit_there(options, file, ask)


def fit_here(options: argparse.Namespace, rows: Upload, ask: dict[str, Any]) -> None:
    """Fit on this machine, and write the model to a file."""
    from melm.command.local_fit import fit_locally
    from service.intake.upload import labeled_rows

    keep(options, fit_locally(labeled_rows(rows), ask))


def fit_streamed(options: argparse.Namespace, ask: dict[str, Any]) -> LocalModel:
    """Fit on this machine to rows that are not read into memory."""
    from melm.command.local_fit import fit_locally
    from melm.command.streamed_fit import open_streamed

    return fit_locally(open_streamed(options, ask["params"].get("seed", 0)), ask)


def keep(options: argparse.Namespace, model: LocalModel) -> None:
    """Write a model to its file, and print its facts."""
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


def fit_there(options: argparse.Namespace, file: TableFile, ask: dict[str, Any]) -> None:
    """Upload the file to a service and submit the fit; with `--watch` follow it."""
    from melm.command.facts import facts_of_fit, facts_of_model
    from melm.command.output import write_facts, write_json
    from melm.remote import Client

    with Client(options.url) as client:
        dataset = client.datasets.upload_file(file.content, **file.options)
        fit = submit(client, dataset, options.url, {"name": Path(file.name).stem[:MAX_NAME], **ask})
        document: Any = asdict(fit.record)
        facts, page = facts_of_fit(fit.record), fit.page
        if options.watch:
            model = wait(fit, options.url)
            if options.output is not None:
                model.download(options.output)
            document = model.describe()
            facts, page = facts_of_model(model.id, document["card"]), model.page
    if options.json:
        write_json({**document, "page": page})
    else:
        write_facts({**facts, "page": page})


def submit(client: Client, dataset: Dataset, url: str, ask: dict[str, Any]) -> Fit:
    """Submit the fit. If it is interrupted, it is not known whether the service has accepted it."""
    try:
        return client.fits.submit(dataset, **ask)
    except KeyboardInterrupt:
        from melm.command.failure import CommandError, ExitCode

        message = f"interrupted while submitting; 'melm fits --url {url}' says whether the fit was taken"
        raise CommandError(message, ExitCode.INTERRUPTED) from None


def wait(fit: Fit, url: str) -> Model:
    """Follow the fit to its end; Ctrl-C leaves it running."""
    from melm.remote import Interrupted

    try:
        return fit.wait(on_interrupt="detach")
    except Interrupted:
        message = f"{fit.id} goes on; 'melm show {fit.id} --url {url}' says how it stands"
        raise Interrupted(fit.id, message, canceled=False) from None
