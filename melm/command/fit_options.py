"""Options of a fit, made of what the methods and the validation declare: names, defaults and texts stand there."""

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

OF_THE_FIT = ("permute_labels", "name", "force")  # fields of the request that are options as they are
OF_A_SERVICE = ("name", "metadata", "force")  # options that mean nothing on this machine
NOT_OFFERED = {  # fields of the request that are no options, each with what is there instead
    "dataset_id": "the table",
    "data": "the table",
    "validation": "an option for each of its members",
    "metadata": "--metadata KEY=VALUE",
}
NOT_OF_A_COMPARISON: dict[str, Any] = {"name": None, "permute_labels": None, "force": None, "metadata": []}
SHOWN_METHODS = 3
KINDS = {"integer": "N", "number": "X", "array": "X,X", "string": "TEXT", "null": "none"}  # what a value looks like
Schema = Mapping[str, Any]


@cache
def parameters() -> dict[str, dict[str, Schema]]:
    """Every parameter of every method: by its name, and by method, its JSON Schema."""
    found: dict[str, dict[str, Schema]] = {}
    for method in METHODS:
        for name, schema in params_of(method).model_json_schema()["properties"].items():
            found.setdefault(name, {})[method] = schema
    return found


def option_of(name: str) -> str:
    """What an option for a parameter is called: `n_starts` is `--starts`."""
    return f"--{name.removeprefix('n_').replace('_', '-')}"


def add_method(command: argparse.ArgumentParser) -> None:
    """The method, and the parameters of all methods."""
    group = command.add_argument_group("the method and its parameters")
    group.add_argument(
        "--method",
        default=DEFAULT_METHOD,
        metavar="NAME",
        help=f"how the projection is found: {', '.join(METHODS)} (%(default)s)",
    )
    add_parameters(group, tuple(parameters()))


def add_parameters(group: Any, names: Sequence[str]) -> None:
    """Parameters of methods."""
    for name in names:
        schemas = parameters()[name]
        first = next(iter(schemas.values()))
        add_value(group, name, list(schemas.values()), f"{as_help(first['description'])} {remark_on(schemas)}")


def add_validation(command: argparse.ArgumentParser) -> None:
    """How the fit is judged."""
    group = command.add_argument_group("the validation")
    for name, schema in ValidationIn.model_json_schema()["properties"].items():
        default = schema["default"] if name != "ceiling" else True
        also = "; 0 does without validation" if name == "folds" else ""
        text = f"{as_help(schema['description'])}{also} ({as_word(default)})"
        add_value(group, name, [{**schema, "default": default}], text)


def add_request(command: argparse.ArgumentParser) -> None:
    """What else a fit may be asked for."""
    group = command.add_argument_group("the fit")
    properties = FitAsk.model_json_schema()["properties"]
    for name in OF_THE_FIT:
        add_value(group, name, [properties[name]], as_help(properties[name].get("description", "What to call it.")))
    group.add_argument(
        "--metadata", metavar="KEY=VALUE", type=pair, action="append", default=[], help="of your own; may be repeated"
    )


def add_value(group: Any, name: str, schemas: list[Schema], text: str) -> None:
    """An option for a value with these schemas, any of which may hold."""
    forms = [form for schema in schemas for form in forms_of(schema)]
    text = text.replace("%", "%%")
    if all(form.get("type") == "boolean" for form in forms):
        can_be_left = any(schema["default"] for schema in schemas)
        action = argparse.BooleanOptionalAction if can_be_left else "store_true"
        group.add_argument(option_of(name), dest=name, action=action, default=None, help=text)
        return
    group.add_argument(option_of(name), dest=name, metavar=metavar_of(forms), type=reader_of(forms), help=text)


def forms_of(schema: Schema) -> list[Schema]:
    """The forms that a value may have; null is none of them where it is the default, which nobody needs to name."""
    forms: list[Schema] = list(schema.get("anyOf", [schema]))
    return [form for form in forms if schema.get("default") is not None or form.get("type") != "null"]


def metavar_of(forms: list[Schema]) -> str:
    """What a value looks like."""
    words: dict[str, None] = {}
    for form in forms:
        kind = KINDS.get(form.get("type", ""))
        said = form.get("enum") or ([form["const"]] if "const" in form else [kind])
        words |= dict.fromkeys(str(each) for each in said if each is not None)
    return "|".join(words)


def reader_of(forms: list[Schema]) -> Callable[[str], Any]:
    """What turns the text of an option into the value. Whether a method takes it is checked with the whole request."""
    kinds = {form.get("type") for form in forms}
    if kinds == {"string"} and not any("enum" in form or "const" in form for form in forms):
        return str

    def read(text: str) -> Any:
        if "null" in kinds and text in ("none", "null"):
            return NOTHING
        if "array" in kinds and "," in text:
            return [value(each) for each in text.split(",")]
        return value(text)

    read.__name__ = "value"  # which argparse shows
    return read


class Nothing:
    """The value null, which is not the same as an option that is not given."""


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
    """Which methods have the parameter, where not all do, and its default."""
    defaults = list(dict.fromkeys(as_word(schema["default"]) for schema in schemas.values()))
    said = [] if len(defaults) > 1 else [defaults[0]]
    if len(schemas) <= SHOWN_METHODS:
        said.insert(0, f"of {', '.join(schemas)}")
    elif len(defaults) > 1 and DEFAULT_METHOD in schemas:
        said = [f"{as_word(schemas[DEFAULT_METHOD]['default'])} of {DEFAULT_METHOD}"]
    return f"({'; '.join(said)})" if said else ""


def as_word(given: Any) -> str:
    """A default as it would be typed."""
    if isinstance(given, bool):
        return "yes" if given else "no"
    return "none" if given is None else f"{given:g}" if isinstance(given, float) else str(given)


def ask_of(options: argparse.Namespace) -> dict[str, Any]:
    """The request for a fit, as the service takes it, without its data; checked as the service would check it."""
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
    """The values that were given."""
    found = {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
    return {name: None if value is NOTHING else value for name, value in found.items()}


def check(ask: Mapping[str, Any]) -> None:
    """Raise an error with a line for each value that the method does not take."""
    from pydantic import ValidationError

    from service.intake.wording import as_field_errors, did_you_mean

    variant = VARIANTS.get(ask["method"])
    if variant is None:
        raise CommandError(f"{ask['method']!r} is no method; {did_you_mean(ask['method'], METHODS)}")
    body = {**ask, "dataset_id": ""}
    try:
        variant.model_validate(body)
    except ValidationError as error:
        problems = as_field_errors(error.errors(), body, variant)
        raise CommandError("\n".join(line(each.pointer, each.detail, ask["method"]) for each in problems)) from None


def line(pointer: str, detail: str, method: str) -> str:
    """A problem in words of the command line."""
    name = pointer.split("/")[2] if pointer.count("/") > 1 else pointer.removeprefix("/")
    if detail.endswith("is not known here"):
        return f"{method} takes no {option_of(name)}"
    return f"{option_of(name)} {detail.removeprefix(f'{name} ')}"
