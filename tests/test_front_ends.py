"""The page, the client and the command line can do the same, by the same names, defaults and texts.

What there is to be done is read out of openapi.yaml, what can be set about a fit out of `GET /v1/methods`.
"""

from __future__ import annotations

import argparse
import inspect
import re
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import pytest
import yaml

from melm import MELM
from melm.command import parser
from melm.command.fit_options import NOT_OFFERED, option_of
from melm.command.options import CommandParser, as_help
from melm.methods import METHODS
from melm.methods.melm import TEXTS as MELM_TEXTS
from melm.remote import Client, Fit, Model, RemoteMELM
from melm.remote.datasets import Datasets, TableOptions
from melm.remote.fits import Fits
from melm.remote.models import Models
from melm.tables.options import TEXTS, ReadOptions
from tests.running_service import RunningService
from tests.servers import ROOT

OPENAPI = yaml.safe_load((ROOT / "openapi.yaml").read_text())
PAGE = "\n".join(file.read_text() for file in sorted((ROOT / "service" / "web").rglob("*.js")))
OBJECTS = {
    "client": Client,
    "datasets": Datasets,
    "fits": Fits,
    "models": Models,
    "fit": Fit,
    "model": Model,
    "estimator": RemoteMELM,
}
# How the work is spread and computed on one machine, and what a seed is called in scikit-learn.
OF_ONE_MACHINE = {"n_jobs", "race", "form", "callback", "verbose", "warm_start"}
SEED = {"random_state": "seed"}


@dataclass(frozen=True)
class Reach:
    """How an operation is reached: a pattern in the page's modules, an attribute of the client, words of the command.

    Where one of them has no way to it, the reason stands in its place, in brackets.
    """

    page: str
    client: str
    command: str


OPERATOR = "(for operators)"
REACH = {
    "transform": Reach(r'"?/transform', "model.transform", "transform"),
    "predict": Reach(r"/predict\b", "model.predict", "predict"),
    "predictProba": Reach("/predict_proba", "model.predict_proba", "predict --probabilities --log-density"),
    "score": Reach("(held-out rows are scored by the fit)", "model.score", "score"),
    "getHealth": Reach(OPERATOR, OPERATOR, OPERATOR),
    "getReadiness": Reach(OPERATOR, OPERATOR, OPERATOR),
    "getMetrics": Reach(OPERATOR, OPERATOR, OPERATOR),
    "createDataset": Reach(r"v1/datasets\?\$", "datasets.upload_file", "fit"),
    "listDatasets": Reach(r"v1/\$\{path\}\?limit", "datasets.__iter__", "datasets"),
    "getDataset": Reach(r"v1/datasets/\$", "datasets.__getitem__", "show"),
    "deleteDataset": Reach(r'method: "DELETE"', "datasets.delete", "delete"),
    "createFit": Reach('post\\("v1/fits"', "fits.submit", "fit"),
    "listFits": Reach(r"v1/fits\?limit", "fits.list", "fits"),
    "getFit": Reach(r"v1/fits/\$\{fitId\}", "fits.attach", "show"),
    "getFitPreview": Reach("/preview", "fit.preview", "(a terminal shows no picture that moves)"),
    "listFitEvents": Reach("(the stream tells them)", "fit.events", "fit --watch"),
    "streamFitEvents": Reach("/events/stream", "fit.events", "fit --watch"),
    "cancelFit": Reach("/cancel", "fit.cancel", "cancel --keep-best"),
    "retryFit": Reach("/retry", "fit.retry", "retry"),
    "listMethods": Reach("v1/methods", "client.methods", "methods"),
    "listModels": Reach(r"v1/\$\{path\}\?limit", "models.__iter__", "models"),
    "importModel": Reach("(files come from programs)", "models.upload", "upload"),
    "getModel": Reach(r"v1/models/\$\{modelId\}", "model.describe", "show"),
    "deleteModel": Reach(r'method: "DELETE"', "model.delete", "delete"),
    "getModelFile": Reach('"file"', "model.download", "download"),
    "getModelSchema": Reach("/schema", "model.schema", "show"),
    "getPlot": Reach(r"/plot\b", "model.plotted", "plot --json"),
    "getPlotSvg": Reach(r"plot\.svg", "model.plot", "plot"),
    "listRows": Reach("/rows", "datasets.rows", "rows"),
    "getModelFeatures": Reach("/features", "model.features", "(for pictures that are turned)"),
    "getReport": Reach('"report"', "model.report", "report"),
    "getSeparation": Reach("/separation", "model.separation", "(for pictures that are turned)"),
    "listAliases": Reach("(names are for programs)", "models.aliases", "(melm show resolves a name)"),
    "getAlias": Reach("(names are for programs)", "models.__getitem__", "show"),
    "putAlias": Reach("(names are for programs)", "model.alias", "upload --alias"),
    "deleteAlias": Reach("(names are for programs)", "models.delete_alias", "delete"),
    "listSamples": Reach("v1/samples", "(for a first look at the page)", "(for a first look at the page)"),
    "getSample": Reach(r"v1/samples/\$", "(for a first look at the page)", "(for a first look at the page)"),
}


@cache
def commands() -> dict[str, CommandParser]:
    """The parsers of all subcommands, filled."""
    actions = next(each for each in parser()._actions if isinstance(each, argparse._SubParsersAction))
    found: dict[str, CommandParser] = dict(actions.choices)
    for each in found.values():
        each.fill()
    return found


def option(command: str, name: str) -> argparse.Action | None:
    """An option of a command."""
    return next((action for action in commands()[command]._actions if name in action.option_strings), None)


def operations() -> dict[str, dict[str, Any]]:
    """All operations by their id."""
    methods = ("get", "post", "put", "delete")
    return {
        path[method]["operationId"]: path[method]
        for path in OPENAPI["paths"].values()
        for method in methods
        if method in path
    }


def test_every_operation_has_a_place_in_the_table() -> None:
    assert set(REACH) == set(operations())


@pytest.mark.parametrize("operation", REACH)
def test_page_client_and_command_reach_it(operation: str) -> None:
    reach = REACH[operation]
    if not reach.page.startswith("("):
        assert re.search(reach.page, PAGE)
    if not reach.client.startswith("("):
        kind, _, attribute = reach.client.partition(".")
        assert callable(getattr(OBJECTS[kind], attribute))
    if not reach.command.startswith("("):
        name, *options = reach.command.split()
        assert all(option(name, each) for each in options), name


def test_every_command_that_answers_writes_json() -> None:
    without = {name for name in commands() if not option(name, "--json")}
    assert without == {"up", "completion", "keys"}  # keys has actions of its own


def test_every_parameter_of_every_method_is_an_option_with_its_text(service: RunningService) -> None:
    with Client(service.url) as client:
        listed = client.methods()
    assert [method.name for method in listed] == [method.name for method in sorted_methods()]
    texts: dict[str, str] = {}
    for method in listed:
        for parameter in method.parameters:
            texts.setdefault(parameter["name"], parameter["description"])  # melm comes first
            assert option("fit", option_of(parameter["name"])), parameter["name"]
    for name, text in texts.items():
        found = option("fit", option_of(name))
        assert found is not None
        assert (found.help or "").replace("%%", "%").startswith(as_help(text)), name
    for name in ("listMethods(", "parameter.default", "description"):  # from which the page builds its fields
        assert name in PAGE


def sorted_methods() -> list[Any]:
    return sorted(METHODS.values(), key=lambda method: (method.name != "melm", not method.common, method.title))


def test_names_defaults_and_texts_of_melm_are_those_of_the_estimator() -> None:
    estimator, remote = MELM().get_params(), RemoteMELM("http://127.0.0.1").get_params()
    stored = METHODS["melm"].Parameters.model_fields
    shared = set(estimator) - OF_ONE_MACHINE - set(SEED) - {"columns"}
    assert set(stored) - set(SEED.values()) == shared
    assert set(remote) - {"url", "api_key", "columns"} - set(SEED) == shared
    for name in shared:
        assert stored[name].default == estimator[name] == remote[name], name
        assert stored[name].description == MELM_TEXTS[name], name
        documented = re.sub(r"\s+", " ", inspect.getdoc(MELM) or "")
        assert MELM_TEXTS[name], name
        assert f"{MELM_TEXTS[name]} " in documented, name


def test_what_a_fit_can_be_asked_for_can_be_asked_for_everywhere() -> None:
    asked = OPENAPI["components"]["schemas"]["FitCreateMelm"]["properties"]
    submitted = set(inspect.signature(Fits.submit).parameters) - {"self", "dataset"}
    assert set(asked) - {"dataset_id", "data"} == submitted
    for name in set(asked) - set(NOT_OFFERED) - {"params"}:
        assert option("fit", option_of(name)), name
    validation = OPENAPI["components"]["schemas"]["ValidationIn"]["properties"]
    for name, schema in validation.items():
        found = option("fit", option_of(name))
        assert found is not None
        assert (found.help or "").startswith(as_help(schema["description"])), name
    for name in ("folds", "permutations", "bootstraps"):
        assert re.search(rf"\b{name}: Number", PAGE)


def test_options_of_tables_are_the_same_everywhere() -> None:
    names = {field.name for field in fields(ReadOptions)} - {"others"}
    assert set(TEXTS) == names == set(TableOptions.__annotations__)
    queried = {each["name"]: each for each in operations()["createDataset"]["parameters"] if each["name"] in names}
    assert set(queried) == names
    documented = re.sub(r"\s+", " ", inspect.getdoc(TableOptions) or "")
    for name, text in TEXTS.items():
        found = option("fit", option_of(name))
        assert found is not None, name
        assert (found.help or "").startswith(as_help(text)), name
        assert queried[name]["description"].startswith(text), name
        assert text in documented, name
        default = getattr(ReadOptions(), name)
        if isinstance(default, str | bool):
            assert queried[name]["schema"]["default"] == found.default == default, name
