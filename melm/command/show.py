"""`melm show`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from melm.command.options import add_command, add_json, add_url

if TYPE_CHECKING:
    from melm.command.options import Commands


def add(commands: Commands) -> None:
    """Add the parser."""
    command = add_command(
        commands,
        "show",
        run,
        "show a model, a fit or a dataset",
        "melm show model.npz",
        "melm show champion --json",
    )
    command.add_argument("thing", metavar="MODEL", help="a model's file; or an id or alias on a service")
    add_url(command, local=False)
    add_json(command)


def run(options: argparse.Namespace) -> None:
    """Show it."""
    from melm.command.output import write_facts, write_json

    document, facts = find(options)
    if options.json:
        write_json(document)
    else:
        write_facts(facts)


def find(options: argparse.Namespace) -> tuple[Any, dict[str, object]]:
    """A resource as a dict, and its facts."""
    from melm.command.facts import facts_of_dataset, facts_of_fit, facts_of_model

    if Path(options.thing).is_file():
        from melm.command.local_model import LocalModel
        from melm.evidence.verdict import with_verdict

        card = with_verdict(LocalModel(options.thing).model.card).model_dump(mode="json")
        return card, facts_of_model(options.thing, card)
    from melm.remote import Client

    with Client(options.url) as client:
        if options.thing.startswith("fit_"):
            fit = client.fits.attach(options.thing).record
            return fit, facts_of_fit(fit)
        if options.thing.startswith("ds_"):
            dataset = client.datasets[options.thing]
            return dataset, facts_of_dataset(dataset)
        model = client.models[options.thing].describe()
        return model, facts_of_model(model["id"], model["card"])
