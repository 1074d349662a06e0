"""HTML and SVG from untrusted values: one function, which escapes them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import LiteralString


class Markup(str):
    """Text that is markup already."""


def fill(template: LiteralString, *values: object) -> Markup:
    """The template with the values filled in. Values are escaped unless they are markup."""
    return Markup(template.format(*(each if isinstance(each, Markup) else escape(str(each)) for each in values)))


def join(parts: Iterable[Markup]) -> Markup:
    """One after the other."""
    return Markup("".join(parts))
