"""The scripts of the gallery as notebooks: a cell of text or of code for each part between lines of `# %%`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat

CELL = re.compile(r"^# %%.*\n", re.MULTILINE)
COMMENT = re.compile(r"\A(?:#.*\n)+")


def as_notebook(script: Path) -> Any:
    """The notebook that a script is."""
    source = script.read_text()
    title = ast.get_docstring(ast.parse(source)) or ""
    new = nbformat.v4
    cells = [new.new_markdown_cell(title)]
    for part in CELL.split(source)[1:]:
        comment = COMMENT.match(part)
        if comment is not None:
            cells.append(new.new_markdown_cell("\n".join(line[2:] for line in comment[0].splitlines())))
        if code := part[comment.end() if comment else 0 :].strip():
            cells.append(new.new_code_cell(code))
    return new.new_notebook(cells=cells)
