"""Text of others on a terminal: what would command it is written out instead."""

from __future__ import annotations

import re

# Control characters, among them the escape that begins all commands, and those that turn the direction of text; halves
# of characters as well, which cannot be written. Tabs and line breaks stay.
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with such characters as JSON writes them, so that JSON stays the same JSON."""
    return COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """The same for a text that stands beside others: its line breaks are written out as well."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
