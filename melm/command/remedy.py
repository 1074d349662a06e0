"""Fixes for problems of a file, as command-line options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from melm.tables.problem import Fix


def as_options(fixes: Iterable[Fix]) -> list[str]:
    """Options that would resolve a problem, each with its purpose."""
    return [f"{as_option(fix.parameter, fix.value)} {fix.purpose}".rstrip() for fix in fixes]


def as_option(parameter: str, value: Any) -> str:
    """A parameter and its value as an option."""
    if isinstance(value, dict):
        return " ".join(f"--{parameter} {shlex.quote(f'{name}={given}')}" for name, given in value.items())
    name = parameter.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {shlex.quote(str(value))}"
