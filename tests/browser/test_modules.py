"""The modules of the picture run anywhere: what they show comes from their source, and they ask nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "service" / "web"
PICTURE = sorted(WEB.joinpath("picture").glob("*.js"))
ALLOWED = ("picture/", "charts/", "element.js", "words.js", "csv_text.js", "meanings.js")
IMPORT = re.compile(r'^import (.*?) from "(.+?)";', re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//.*")
OUTSIDE = re.compile(  # of the page: its network, its address, its storage
    r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|location|history|localStorage|sessionStorage|indexedDB"
    r"|cookie|import)\b\s*[.(=]|\bimport\.meta|v1/"
)


def imports(module: Path) -> dict[Path, str]:
    """What a module imports, by the file it is in."""
    return {(module.parent / path).resolve(): names for names, path in IMPORT.findall(module.read_text())}


@pytest.mark.parametrize("module", PICTURE, ids=lambda module: module.stem)
def test_a_module_of_the_picture_has_only_its_source(module: Path) -> None:
    assert OUTSIDE.findall(COMMENT.sub("", module.read_text())) == []
    for file, names in imports(module).items():
        assert file.is_file()
        assert file.relative_to(WEB).as_posix().startswith(ALLOWED), f"{module.name} imports {file.name}"
        assert names.startswith("{"), "exports have names"


def test_what_the_picture_imports_has_no_network_either() -> None:
    for module in {file for each in PICTURE for file in imports(each)}:
        assert OUTSIDE.findall(COMMENT.sub("", module.read_text())) == [], module.name
        assert "export default" not in module.read_text()


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module.resolve(): set(imports(module)) for module in WEB.rglob("*.js")}
    while graph:
        leaves = {module for module, needed in graph.items() if not needed & graph.keys()}
        assert leaves, f"a cycle among {sorted(module.name for module in graph)}"
        graph = {module: needed for module, needed in graph.items() if module not in leaves}
