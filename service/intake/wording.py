"""Validation errors of pydantic in the service's words: one entry per place, and a suggestion for a misspelled name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

from service.errors import FieldError, escape

LONGEST_VALUE = 60  # characters of a value that are repeated to its sender
WORDS = {  # by pydantic's type of error; filled with its context
    "missing": "is missing",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must have the form {pattern}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    "string_type": "must be text",
    "list_type": "must be a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be an object"),
}


def as_field_errors(
    errors: Iterable[Mapping[str, Any]], body: Any = None, model: type[BaseModel] | None = None
) -> list[FieldError]:
    """Errors by place. For a union pydantic reports an error for each type; they become one entry."""
    by_place: dict[tuple[str | int, ...], list[Mapping[str, Any]]] = {}
    for error in errors:
        place = error["loc"] if body is None else _place(error, body)
        by_place.setdefault(place, []).append(error)
    return [_as_field_error(place, found, model) for place, found in by_place.items()]


def _place(error: Mapping[str, Any], body: Any) -> tuple[str | int, ...]:
    """Where in the body: pydantic also names the form that it tried, which the body does not have."""
    place: list[str | int] = []
    for part in error["loc"]:
        try:
            body = body[part]
        except (LookupError, TypeError):
            if error["type"] != "missing" or part != error["loc"][-1]:
                continue
        place.append(part)
    return tuple(place)


def _as_field_error(
    place: Sequence[str | int], errors: Sequence[Mapping[str, Any]], model: type[BaseModel] | None
) -> FieldError:
    pointer = "".join(f"/{escape(str(part))}" for part in place)
    first = errors[0]
    if first["type"] == "extra_forbidden":
        return FieldError(pointer, f"{place[-1]!r} is not known here", _near(place, model))
    details = list(dict.fromkeys(map(_detail, errors)))
    shorter = [detail.removeprefix("must be ") for detail in details[1:]]
    name = f"{place[-1]} " if place else ""
    return FieldError(pointer, f"{name}{' or '.join([details[0], *shorter])}{_given(first)}", _fix(first))


def _detail(error: Mapping[str, Any]) -> str:
    words = WORDS.get(error["type"])
    return str(error["msg"]).removeprefix("Value error, ") if words is None else words.format(**error.get("ctx", {}))


def _given(error: Mapping[str, Any]) -> str:
    """What was sent instead, where that is short enough to be of use."""
    value = error.get("input")
    if error["type"] not in WORDS or error["type"] == "missing" or not isinstance(value, str | int | float | None):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return f", not {text}" if len(text) <= LONGEST_VALUE else ""


def _fix(error: Mapping[str, Any]) -> str | None:
    fix = (error.get("ctx") or {}).get("fix")
    return None if fix is None else str(fix)


def _near(place: Sequence[str | int], model: type[BaseModel] | None) -> str | None:
    """The known name that is most like an unknown one, else all names that are known there."""
    for part in place[:-1]:
        field = None if model is None else model.model_fields.get(str(part))
        inner = None if field is None else field.annotation
        model = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
    return None if model is None else did_you_mean(str(place[-1]), model.model_fields)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """How to mend a misspelled name."""
    names = list(known)
    near = get_close_matches(name.lower(), [each.lower() for each in names], n=1, cutoff=0.6)
    for each in names:
        if near and each.lower() == near[0]:
            return f"did you mean {each!r}?"
    return f"known: {', '.join(names[:20])}{' and more' if len(names) > 20 else ''}"
