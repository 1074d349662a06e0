"""What mends a file, in words of the command line: readers name parameters, people here have options."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
PARAMETER = re.compile(rf"\b(?P<name>missing_values|delimiter|decimal|encoding)=(?P<value>{QUOTED})")
COLUMN = re.compile(rf"\bcolumns=\{{(?P<column>{QUOTED}): '(?P<role>\w+)'\}}")
WORDS = {
    'by columns, such as {"age": "numeric"}': "by --columns, such as --columns age=numeric",
    "missing=impute": "leave out --missing refuse",
    "send y, or name the label column by ?target=": "name the label column by --target",
    "delimiter sets it": "--delimiter sets it",
    "delimiter, where": "--delimiter, where",
}


def as_options(fix: str) -> str:
    """A fix with parameters turned to options, quoted so that they can be typed."""
    for words, others in WORDS.items():
        fix = fix.replace(words, others)
    fix = COLUMN.sub(lambda found: f"--columns {quote(found['column'], suffix='=' + found['role'])}", fix)
    return PARAMETER.sub(lambda found: f"--{found['name'].replace('_', '-')} {quote(found['value'])}", fix)


def as_option(parameter: str, value: Any) -> str:
    """A parameter and its value as an option that can be typed."""
    if isinstance(value, dict):
        return " ".join(f"--{parameter} {shlex.quote(f'{name}={given}')}" for name, given in value.items())
    return f"--{parameter.replace('_', '-')} {shlex.quote(str(value))}"


def quote(literal: str, suffix: str = "") -> str:
    """What a quoted value stands for, as a shell takes it."""
    return shlex.quote(f"{ast.literal_eval(literal)}{suffix}")
