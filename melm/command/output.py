"""Input and output of commands: files, arrays as CSV, npz or JSON, facts as lines or JSON, lists as columns or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from melm.command.failure import CommandError
from melm.command.terminal import one_line, printable

FORMATS = {".csv": "text/csv", ".npz": "application/x-npz", ".json": "application/json"}
STANDARD = "-"


def media_type_of(output: str, *, as_json: bool) -> str:
    """The format of the output, by the name of the file; on standard output CSV or JSON."""
    if output == STANDARD:
        return "application/json" if as_json else "text/csv"
    if (suffix := Path(output).suffix.lower()) in FORMATS:
        return FORMATS[suffix]
    raise CommandError(f"{output}: name a file that ends in {', '.join(FORMATS)}")


def read_bytes(path: str) -> bytes:
    """A file's content."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def write_bytes(content: bytes, output: str) -> None:
    """Bytes to a file or to standard output."""
    if output == STANDARD and sys.stdout.isatty():
        sys.stdout.write(printable(content.decode(errors="replace").replace("\r\n", "\n")))
        return
    if output == STANDARD:  # read by a program
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise CommandError(f"{output}: {(error.strerror or str(error)).lower()}") from None


def write_json(value: Any) -> None:
    """A JSON document."""
    write_line(json.dumps(value, default=plain, indent=2, ensure_ascii=False))


def write_facts(facts: Mapping[str, object]) -> None:
    """Print facts, one per line; a value may have several lines. Facts that are None are left out."""
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            write_line(f"{name:<{width}}  " + str(value).replace("\n", "\n" + " " * (width + 2)))


def write_columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows with a header, in aligned columns."""
    table = [header, *([one_line(text(value)) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        write_line("  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip())


def write_line(line: str) -> None:
    """Print a line on standard output."""
    sys.stdout.write(f"{printable(line)}\n")


def text(value: object) -> str:
    """A value as readable text."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """Convert times and records of the client for JSON."""
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
