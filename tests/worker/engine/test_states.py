"""The picture of a fit's life, in the documentation and in the code."""

import ast
import re

import worker.engine
from tests.servers import ROOT
from worker.engine.states import MOVES

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def picture(text: str) -> list[str]:
    """The lines of the drawing."""
    lines = [line.strip() for line in text.splitlines()]
    first = next(index for index, line in enumerate(lines) if line.startswith("queued ──► running"))
    return lines[first : lines.index("", first)]


def test_the_table_of_moves_is_the_one_in_the_code() -> None:
    rows = re.findall(r"^\| (queued|running|succeeded|failed|canceled) \| ([a-z, ]+) \|$", ARCHITECTURE, flags=re.M)
    stated = {before: set(afters.split(", ")) for before, afters in rows}
    assert stated == {before.value: {after.value for after in afters} for before, afters in MOVES.items() if afters}


def test_the_drawing_is_the_engines_own_and_names_every_status() -> None:
    assert picture(ARCHITECTURE) == picture(worker.engine.__doc__ or "")
    drawn = set(re.findall("[a-z]+", " ".join(picture(ARCHITECTURE))))
    assert drawn == {status.value for status in MOVES} | {"retry"}


def test_the_service_imports_only_what_the_engine_exports() -> None:
    exported = set(worker.engine.__all__)
    assert len(exported) <= 6
    imported = set()
    for path in (ROOT / "service").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "worker.engine":
                imported |= {alias.name for alias in node.names}
    assert imported <= exported
