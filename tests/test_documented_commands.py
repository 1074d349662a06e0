"""Every command and every Python block of the README and the pages is run, in order, against a running service.

A page's blocks run in one folder, which holds `iris.csv`, in one shell and one Python namespace. The address that pages
use stands for the running service, and an id with an ellipsis (`mdl_…`) for the last such id that a command has named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from melm.command.failure import EXIT_CODES, ExitCode
from tests.documents import Block, Shell, blocks_of, shell
from tests.running_service import RunningService
from tests.servers import ROOT
from tests.service import samples

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTED_URL = "http://127.0.0.1:8000"
SHOWN_ONLY = {"text", "json", "yaml", "html", "ini", "nginx"}
NOT_RUN = {
    ("README.md", "make up      # set up .venv, start everything, print the address"): "starts servers, runs all tests",
    (
        "README.md",
        "pip install .              # the library, and the command for models",
    ): "see tests/test_wheel.py",
    (
        "README.md",
        'echo "MELM_REDIS_PASSWORD=$(openssl rand -hex 24)" > .env',
    ): "needs Docker; tests/containers carries the compose file out",
}
ID = re.compile(r"\b(ds|fit|mdl)_[0-9A-Z]{26}\b")


class Reader:
    """Somebody who reads a page and does what it says."""

    def __init__(self, url: str, shell: Shell) -> None:
        self._url = url
        self._shell = shell
        self._ids: dict[str, str] = {}
        self._namespace: dict[str, Any] = {}

    def run(self, block: Block, capsys: pytest.CaptureFixture[str]) -> None:
        """Run a block, and look at what it says."""
        if block.language == "python":
            exec(compile(self._fill_in(block.text), f"{block.page}: {block.first_line}", "exec"), self._namespace)  # noqa: S102
            self._remember(capsys.readouterr().out)
            return
        for command in block.commands():
            code, said = self._shell.run(self._fill_in(command))
            assert code == 0, f"{block.page}: {command}\n{said}"
            self._remember(said)

    def _fill_in(self, text: str) -> str:
        for kind, id in self._ids.items():
            text = text.replace(f"{kind}_…", id)
        return text.replace(DOCUMENTED_URL, self._url)

    def _remember(self, said: str) -> None:
        first = {match[1]: match[0] for match in reversed(list(ID.finditer(said)))}
        self._ids |= first


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[] if page.name == "README.md" else pytest.mark.slow, id=page.name) for page in PAGES],
)
def test_what_a_page_says_works(
    page: Path,
    service: RunningService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "iris.csv").write_bytes(samples.irises_csv())
    monkeypatch.chdir(tmp_path)
    with shell(tmp_path, {"PYTHONPATH": str(ROOT)}) as commands:
        reader = Reader(service.url, commands)
        for block in blocks_of(page):
            if block.language not in SHOWN_ONLY and (block.page, block.first_line) not in NOT_RUN:
                reader.run(block, capsys)


def test_every_block_says_what_it_is() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    unknown = [block for block in blocks if block.language not in SHOWN_ONLY | {"bash", "sh", "python"}]
    assert not unknown


def test_what_is_not_run_is_still_there() -> None:
    blocks = {(block.page, block.first_line) for page in PAGES for block in blocks_of(page)}
    assert set(NOT_RUN) <= blocks


def test_the_exit_codes_of_the_page_are_those_of_the_command() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    for line in EXIT_CODES.splitlines()[1:]:
        code, meaning = line.split(maxsplit=1)
        assert f"| {code} | {meaning} |" in page
        assert int(code) in list(ExitCode)
