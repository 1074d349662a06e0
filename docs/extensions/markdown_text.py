"""Pieces of Markdown that generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "api"  # generated, and not under version control


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line breaks in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines) + "\n"


def write(name: str, text: str) -> None:
    """A file that a page includes. One that has not changed is left alone, so that its page is not built again."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / name
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
