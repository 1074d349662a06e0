"""Untrusted text on a terminal: control characters are escaped."""

from __future__ import annotations

import re

# Control characters, among them the escape character, bidirectional overrides, and lone surrogates, which cannot be
# encoded. Tabs and line breaks are kept.
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Escape such characters as in JSON, so that JSON keeps its meaning."""
    return COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """Escape such characters and line breaks, for text within a line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
