"""Options of a fit. Names, defaults and help texts come from the declarations of methods and validation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from melm.command.failure import CommandError, ExitCode
from melm.command.options import as_help
from melm.methods import METHODS
from service.schemas import DEFAULT_METHOD, VARIANTS, FitAsk, ValidationIn, params_of

OF_THE_FIT = ("permute_labels", "name", "force")  # fields of the request that are options
OF_A_SERVICE = ("name", "metadata", "force")  # options that require --url
NOT_OFFERED = {  # fields of the request without an option, with what replaces them
    "dataset_id": "the table",
    "data": "the table",
    "validation": "an option for each of its members",
    "metadata": "--metadata KEY=VALUE",
}
NOT_OF_A_COMPARISON: dict[str, Any] = {"name": None, "permute_labels": None, "force": None, "metadata": []}
SHOWN_METHODS = 3
KINDS = {"integer": "N", "number": "X", "array": "X,X", "string": "TEXT", "null": "none"}  # placeholders by type
Schema = Mapping[str, Any]


@cache
def parameters() -> dict[str, dict[str, Schema]]:
    """The JSON Schemas of all parameters, by name and method."""
    found: dict[str, dict[str, Schema]] = {}
    for method in METHODS:
        for name, schema in params_of(method).model_json_schema()["properties"].items():
            found.setdefault(name, {})[method] = schema
    return found


def option_of(name: str) -> str:
    """The option of a parameter: `--starts` for `n_starts`."""
    return f"--{name.removeprefix('n_').replace('_', '-')}"


def add_method(command: argparse.ArgumentParser) -> None:
    """Add the options for the method and for the parameters of all methods."""
    group = command.add_argument_group("the method and its parameters")
    group.add_argument(
        "--method",
        default=DEFAULT_METHOD,
        metavar="NAME",
        help=f"how the projection is found: {', '.join(METHODS)} (%(default)s)",
    )
    add_parameters(group, tuple(parameters()))


def add_parameters(group: Any, names: Sequence[str]) -> None:
    """Add options for parameters of methods."""
    for name in names:
        schemas = parameters()[name]
        first = next(iter(schemas.values()))
        add_value(group, name, list(schemas.values()), f"{as_help(first['description'])} {remark_on(schemas)}")


def add_validation(command: argparse.ArgumentParser) -> None:
    """Add the options of the validation."""
    group = command.add_argument_group("the validation")
    for name, schema in ValidationIn.model_json_schema()["properties"].items():
        default = schema["default"] if name != "ceiling" else True
        also = "; 0 disables validation" if name == "folds" else ""
        text = f"{as_help(schema['description'])}{also} ({as_word(default)})"
        add_value(group, name, [{**schema, "default": default}], text)


def add_request(command: argparse.ArgumentParser) -> None:
    """Add the other options of a fit."""
    group = command.add_argument_group("the fit")
    properties = FitAsk.model_json_schema()["properties"]
    for name in OF_THE_FIT:
        add_value(
            group,
            name,
            [properties[name]],
            as_help(properties[name].get("description", "A name for the fit and its model.")),
        )
    group.add_argument(
        "--metadata",
        metavar="KEY=VALUE",
        type=pair,
        action="append",
        default=[],
        help="your own metadata; may be repeated",
    )


def add_value(group: Any, name: str, schemas: list[Schema], text: str) -> None:
    """Add an option for a value that matches any of the schemas."""
    forms = [form for schema in schemas for form in forms_of(schema)]
    text = text.replace("%", "%%")
    if all(form.get("type") == "boolean" for form in forms):
        can_be_left = any(schema["default"] for schema in schemas)
        action = argparse.BooleanOptionalAction if can_be_left else "store_true"
        group.add_argument(option_of(name), dest=name, action=action, default=None, help=text)
        return
    group.add_argument(option_of(name), dest=name, metavar=metavar_of(forms), type=reader_of(forms), help=text)


def forms_of(schema: Schema) -> list[Schema]:
    """The schemas of a value, without null if that is the default."""
    forms: list[Schema] = list(schema.get("anyOf", [schema]))
    return [form for form in forms if schema.get("default") is not None or form.get("type") != "null"]


def metavar_of(forms: list[Schema]) -> str:
    """The placeholder of an option's value."""
    words: dict[str, None] = {}
    for form in forms:
        kind = KINDS.get(form.get("type", ""))
        said = form.get("enum") or ([form["const"]] if "const" in form else [kind])
        words |= dict.fromkeys(str(each) for each in said if each is not None)
    return "|".join(words)


def reader_of(forms: list[Schema]) -> Callable[[str], Any]:
    """A function that parses the text of an option. The value is checked later, with the whole request."""
    kinds = {form.get("type") for form in forms}
    if kinds == {"string"} and not any("enum" in form or "const" in form for form in forms):
        return str

    def read(text: str) -> Any:
        if "null" in kinds and text in ("none", "null"):
            return NOTHING
        if "array" in kinds and "," in text:
            return [value(each) for each in text.split(",")]
        return value(text)

    read.__name__ = "value"  # the name in error messages of argparse
    return read


class Nothing:
    """The explicit value null, unlike None for an option that is not given."""


NOTHING = Nothing()


def value(text: str) -> Any:
    """A number as a number, everything else as text."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float) and not isinstance(found, bool) else text


def pair(text: str) -> tuple[str, str]:
    """A key and its value."""
    key, separator, said = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, said


def remark_on(schemas: Mapping[str, Schema]) -> str:
    """The default of a parameter, and its methods, if there are few."""
    defaults = list(dict.fromkeys(as_word(schema["default"]) for schema in schemas.values()))
    said = [] if len(defaults) > 1 else [defaults[0]]
    if len(schemas) <= SHOWN_METHODS:
        said.insert(0, f"of {', '.join(schemas)}")
    elif len(defaults) > 1 and DEFAULT_METHOD in schemas:
        said = [f"{as_word(schemas[DEFAULT_METHOD]['default'])} of {DEFAULT_METHOD}"]
    return f"({'; '.join(said)})" if said else ""


def as_word(given: Any) -> str:
    """A default as it would be typed on the command line."""
    if isinstance(given, bool):
        return "yes" if given else "no"
    return "none" if given is None else f"{given:g}" if isinstance(given, float) else str(given)


def ask_of(options: argparse.Namespace) -> dict[str, Any]:
    """The request for a fit without its data, in the form of the service, and checked as by the service."""
    if options.folds == 0 and (options.permutations or options.bootstraps):
        message = "--permutations and --bootstraps need --folds: they are part of the validation"
        raise CommandError(message, ExitCode.USAGE)
    for name in OF_A_SERVICE:
        if options.url is None and getattr(options, name):
            raise CommandError(f"{option_of(name)} needs --url: it is for a service", ExitCode.USAGE)
    asked = {name: getattr(options, name) for name in OF_THE_FIT}
    ask: dict[str, Any] = {
        "method": options.method,
        "params": given(options, parameters()),
        "validation": None if options.folds == 0 else {"ceiling": True, **given(options, ValidationIn.model_fields)},
        "metadata": dict(options.metadata),
        **{name: value for name, value in asked.items() if value is not None},
    }
    check(ask)
    return ask


def given(options: argparse.Namespace, names: Mapping[str, object]) -> dict[str, Any]:
    """The options that were given."""
    found = {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
    return {name: None if value is NOTHING else value for name, value in found.items()}


def check(ask: Mapping[str, Any]) -> None:
    """Raise an error with a line for each value that the method refuses."""
    from pydantic import ValidationError

    from service.intake.wording import as_field_errors, did_you_mean

    variant = VARIANTS.get(ask["method"])
    if variant is None:
        raise CommandError(f"{ask['method']!r} is not a method; {did_you_mean(ask['method'], METHODS)}")
    body = {**ask, "dataset_id": ""}
    try:
        variant.model_validate(body)
    except ValidationError as error:
        problems = as_field_errors(error.errors(), body, variant)
        raise CommandError("\n".join(line(each.pointer, each.detail, ask["method"]) for each in problems)) from None


def line(pointer: str, detail: str, method: str) -> str:
    """An error in terms of command-line options."""
    name = pointer.split("/")[2] if pointer.count("/") > 1 else pointer.removeprefix("/")
    last = pointer.rpartition("/")[2]
    if detail.endswith("is not known here"):
        return f"{method} takes no {option_of(name)}"
    return f"{option_of(name)} {detail.removeprefix(f'{last} ')}"
