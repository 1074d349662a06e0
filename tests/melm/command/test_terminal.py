"""Names and labels of others on a real terminal: none of them commands it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from melm.command.terminal import one_line, printable
from tests.running_service import RunningService
from tests.servers import ROOT
from tests.service import samples

RED, TITLE, CLEAR = "\x1b[31m", "\x1b]0;owned\x07", "\x9b2J"
HOSTILE = f"{RED}{TITLE}{CLEAR}\rname\u202egpj"
FORBIDDEN = ("\x1b", "\x07", "\x9b", "\u202e", "\rname")


def on_a_terminal(*arguments: str) -> str:
    """What the command shows to a person, on standard output and standard error."""
    control, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; from melm.command import main; sys.exit(main())", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(control, 65_536):
                shown += piece
        except OSError:  # the command has ended
            pass
        os.close(control)
        process.wait(60)
    return shown.decode().replace("\r\n", "\n")


def assert_harmless(shown: str) -> None:
    assert shown
    for text in FORBIDDEN:
        assert text not in shown


def write_rows(path: Path) -> None:
    """Two rows, under the names that the model knows."""
    names = [f"{HOSTILE}{name}" for name in samples.FEATURES]
    lines = [",".join(f'"{cell}"' for cell in row) for row in [names, *samples.irises()["X"][:2]]]
    path.write_text("\n".join(lines), newline="")


@pytest.fixture(scope="module")
def fit(service: RunningService) -> dict[str, str]:
    """A fit whose every name and label tries to command the terminal."""
    data = samples.irises()
    data["y"] = [f"{HOSTILE}{label}" for label in data["y"]]
    data["feature_names"] = [f"{HOSTILE}{name}" for name in samples.FEATURES]
    ask = {"data": data, "method": "pca", "validation": {"folds": 2}, "name": HOSTILE}
    with httpx2.Client(base_url=service.url, timeout=70) as client:
        fit = samples.fit(client, ask)
        file = client.get(f"/v1/models/{fit['model_id']}/file").content
        named = client.post(
            "/v1/models", content=file, headers={"Content-Type": "application/x-npz"}, params={"name": HOSTILE}
        )
        assert named.status_code == 201
    return {key: fit[key] for key in ("id", "model_id", "dataset_id")}


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("command", ["fits", "models"])
def test_lists(service: RunningService, fit: dict[str, str], command: str, form: list[str]) -> None:
    shown = on_a_terminal(command, "--url", service.url, *form)
    assert_harmless(shown)
    assert "\\u001b[31m" in shown
    if form:
        assert HOSTILE in [record["name"] for record in json.loads(shown)]


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("thing", ["id", "model_id", "dataset_id"])
def test_show(service: RunningService, fit: dict[str, str], thing: str, form: list[str]) -> None:
    shown = on_a_terminal("show", fit[thing], "--url", service.url, *form)
    assert_harmless(shown)
    assert "\\u001b[31m" in shown


def test_answers_and_complaints(service: RunningService, fit: dict[str, str], tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    write_rows(table)
    shown = on_a_terminal("predict", fit["model_id"], str(table), "--url", service.url)
    assert_harmless(shown)
    assert "setosa" in shown
    assert_harmless(on_a_terminal("show", f"no{HOSTILE}thing", "--url", service.url))
    table.write_text(f'"{HOSTILE}"\n1\n')
    assert_harmless(on_a_terminal("predict", fit["model_id"], str(table), "--url", service.url))


def test_programs_get_the_bytes(service: RunningService, fit: dict[str, str], tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.csv")
    command = [sys.executable, "-c", "import sys; from melm.command import main; sys.exit(main())"]
    asked = ["predict", fit["model_id"], str(tmp_path / "rows.csv"), "--url", service.url, "--json"]
    said = subprocess.run([*command, *asked], cwd=ROOT, capture_output=True, check=True, timeout=60)
    assert json.loads(said.stdout)["predictions"] == [f"{HOSTILE}setosa"] * 2


def test_what_is_harmless_stays() -> None:
    for text in ("plain", "Größe\tΩ 日本語 👩\u200d🔬 \u200f", "two\nlines"):
        assert printable(text) == text
    assert one_line("two\nlines\tand\x1b") == "two\\nlines\\tand\\u001b"
