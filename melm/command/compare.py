"""`melm compare`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from melm.command.options import add_columns, add_command, add_json, add_reading, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands
    from melm.remote import Client

Compared = dict[str, Any]  # method, model, and either its card or the error


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "compare",
        run,
        "fit several methods to the same rows, and compare their scores on held-out rows",
        "melm compare iris.csv --target species",
        "melm compare mdl_… --methods melm,lda,pca --url http://127.0.0.1:8000",
    )
    command.add_argument(
        "table", metavar="FILE", help="a table, as for melm fit; with --url also the id of a dataset or a model"
    )
    add_reading(command, help="the column of labels")
    add_columns(command)
    command.add_argument(
        "--methods", metavar="NAMES", help="names separated by commas, or all; by default common methods"
    )
    command.add_later(add_options)
    add_url(command, local=True)
    add_json(command)


def add_options(command: argparse.ArgumentParser) -> None:
    """Options for dimensions, seed and validation, which are the same for all methods."""
    from melm.command.fit_options import add_parameters, add_validation

    add_parameters(command.add_argument_group("parameters of all methods that have them"), ("n_components", "seed"))
    add_validation(command)


def run(options: argparse.Namespace) -> None:
    """Fit all methods, and list them in the given order."""
    from melm.command.output import write_columns, write_json, write_line

    compared, page = compare_here(options) if options.url is None else compare_there(options)
    if options.json:
        write_json({"methods": compared, "page": page})
        return
    write_columns(("method", "held out", "interval", "in sample", "model"), map(row_of, compared))
    ceiling = next((each["card"]["ceiling"] for each in compared if each["card"] and each["card"]["ceiling"]), None)
    if ceiling is not None:
        write_line(f"ceiling: {ceiling['balanced_accuracy']:.3f} by {ceiling['method']}, without a picture")
    if page is not None:
        write_line(f"page: {page}")


def compare_here(options: argparse.Namespace) -> tuple[list[Compared], None]:
    """Fit on this machine. The models are not kept; `melm fit --method` makes one again."""
    from melm.command.failure import CommandError
    from melm.command.local_fit import fit_locally
    from melm.command.table_file import TableFile
    from service.intake.upload import labeled_rows

    data = labeled_rows(TableFile(options, labeled=True).training_rows())
    compared = []
    for ask in asks_of(options, len(data.classes)):
        try:
            card = fit_locally(data, ask).card.model_dump(mode="json")
            compared.append({"method": ask["method"], "model": None, "card": card, "error": None})
        except CommandError as error:
            compared.append({"method": ask["method"], "model": None, "card": None, "error": str(error)})
    return compared, None


def compare_there(options: argparse.Namespace) -> tuple[list[Compared], str | None]:
    """Fit on a service. All fits are submitted before waiting for the first."""
    from melm.remote import Client, FitEnded, Invalid

    compared: list[Compared] = []
    page = None
    with Client(options.url) as client:
        dataset = client.datasets[dataset_id_of(client, options)]
        fits: list[Any] = []
        for ask in asks_of(options, len(dataset.classes)):
            try:
                fits.append((ask["method"], client.fits.submit(dataset, **ask)))
            except Invalid as error:
                fits.append((ask["method"], error))
        for method, fit in fits:
            found: Compared = {"method": method, "model": None, "card": None, "error": None}
            try:
                if isinstance(fit, Invalid):
                    raise fit
                model = fit.wait(on_interrupt="detach")
                found |= {"model": model.id, "card": model.describe()["card"]}
                page = page or f"{model.page}/compare"
            except (FitEnded, Invalid) as error:
                found["error"] = str(error)
            compared.append(found)
    return compared, page


def dataset_id_of(client: Client, options: argparse.Namespace) -> str:
    """The id of a dataset: the given one, that of a model, or that of an uploaded file."""
    from pathlib import Path

    from melm.command.failure import CommandError
    from melm.command.table_file import TableFile

    if options.table == "-" or Path(options.table).is_file():
        file = TableFile(options, labeled=True)
        return client.datasets.upload_file(file.content, **file.options).id
    if options.table.startswith("ds_"):
        return str(options.table)
    dataset_id = client.models[options.table].record.dataset_id
    if dataset_id is None:
        raise CommandError(f"{options.table} was imported: the service has no rows of it")
    return dataset_id


def asks_of(options: argparse.Namespace, n_classes: int) -> Iterator[dict[str, Any]]:
    """A request for each method, with those of the given parameters that it has."""
    from melm.command.failure import CommandError
    from melm.command.fit_options import NOT_OF_A_COMPARISON, ask_of, parameters
    from melm.methods import METHODS

    names = [name for name, method in METHODS.items() if method.common or options.methods == "all"]
    if options.methods not in (None, "all"):
        names = options.methods.split(",")
        if unknown := [name for name in names if name not in METHODS]:
            raise CommandError(f"{unknown[0]!r} is not a method; methods: {', '.join(METHODS)}")
    for name in names:
        taken = {parameter for parameter, methods in parameters().items() if name in methods}
        given = {key: value for key, value in vars(options).items() if key not in parameters() or key in taken}
        if name == "lda" and options.n_components is not None:  # it has fewer dimensions than classes
            given["n_components"] = min(options.n_components, n_classes - 1)
        yield ask_of(argparse.Namespace(**{**NOT_OF_A_COMPARISON, **given, "method": name}))


def row_of(compared: Compared) -> tuple[object, ...]:
    """The row of a method in the table."""
    from melm.command.output import text

    card = compared["card"]
    if card is None:
        return compared["method"], "-", "-", "-", f"not possible: {compared['error']}"
    held_out, in_sample = card["validation"], card["in_sample"] or {}
    scores = ["-", "-"]
    if held_out is not None:
        low, high = held_out["interval"]
        scores = [f"{held_out['balanced_accuracy']:.3f}", f"{low:.3f} to {high:.3f}"]
    return compared["method"], *scores, text(in_sample.get("leave_one_out_balanced_accuracy")), compared["model"]
