"""CITATION.cff and the words of every card."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from melm.evidence.citation import PAPER, SOFTWARE
from tests.servers import ROOT

FILE = ROOT / "CITATION.cff"


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return content


def test_the_file_is_of_its_format() -> None:
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    command = [checker, "--builtin-schema", "vendor.citation-file-format", str(FILE)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_file_is_about_this_version(citation: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]


def test_cards_cite_what_the_file_cites(citation: dict[str, Any]) -> None:
    (paper,) = citation["references"]
    for part in (paper["title"], str(paper["year"]), f"{paper['start']}-{paper['end']}", f"LNCS {paper['volume']}"):
        assert part in PAPER
    for author in paper["authors"]:
        assert author["family-names"] in PAPER
    assert citation["authors"][0]["name"] in SOFTWARE
