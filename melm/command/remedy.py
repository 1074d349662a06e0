"""What mends a file, in words of the command line: readers name parameters, people here have options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from melm.tables.problem import Fix

WORDS = {
    'by columns, such as {"age": "numeric"}': "by --columns, such as --columns age=numeric",
    "send y, or name the label column by ?target=": "name the label column by --target",
    "delimiter sets it": "--delimiter sets it",
    "delimiter, where": "--delimiter, where",
}


def as_options(said: str, fixes: Iterable[Fix]) -> str:
    """A sentence with parameters turned to options, quoted so that they can be typed."""
    for words, others in WORDS.items():
        said = said.replace(words, others)
    for fix in fixes:
        said = said.replace(str(fix), f"{as_option(fix.parameter, fix.value)} {fix.purpose}".rstrip())
    return said


def as_option(parameter: str, value: Any) -> str:
    """A parameter and its value as an option that can be typed."""
    if isinstance(value, dict):
        return " ".join(f"--{parameter} {shlex.quote(f'{name}={given}')}" for name, given in value.items())
    name = parameter.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {shlex.quote(str(value))}"
