"""What the command does where only some extras are installed: the rest is one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from melm import MELM
from melm.command.failure import ExitCode
from tests.service import samples
from tests.service.api import free_port

PROGRAM = """
import importlib.util, sys
missing = set({missing!r})
find_spec = importlib.util.find_spec
class Missing:
    def find_spec(self, name, *arguments):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
importlib.util.find_spec = lambda name, *arguments: None if name in missing else find_spec(name, *arguments)
from melm.command import main
sys.exit(main({arguments!r}))
"""
CLIENT = ["httpx2", "tqdm"]
TABLES = ["msgspec", "pyarrow", "python_calamine"]
SERVICE = ["celery", "fastapi", "kombu", "redis", "resvg_py", "shtab", "starlette", "uvicorn"]


def melm(folder: Path, missing: list[str], *arguments: str) -> tuple[int, str]:
    """The exit code of the command where modules are missing, and what it said."""
    program = PROGRAM.format(missing=missing, arguments=list(arguments))
    run = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table and a model."""
    (tmp_path / "iris.csv").write_bytes(samples.irises_csv())
    X, y = samples.iris_arrays()
    MELM(n_starts=1, random_state=0).fit(X, y).save(tmp_path / "model.npz")
    return tmp_path


def test_tables_are_enough_for_all_that_is_done_here(folder: Path) -> None:
    missing = [*CLIENT, *SERVICE]
    quick = ("--target", "species", "--method", "lda", "--folds", "0", "--output", "lda.npz")
    for arguments in (
        ("fit", "iris.csv", *quick),
        ("predict", "lda.npz", "iris.csv", "--target", "species"),
        ("transform", "lda.npz", "iris.csv", "--target", "species"),
        ("predict", "lda.npz", "iris.csv", "--target", "species", "--probabilities", "--log-density"),
        ("score", "lda.npz", "iris.csv", "--target", "species"),
        ("compare", "iris.csv", "--target", "species", "--methods", "pca,lda", "--folds", "0"),
        ("report", "lda.npz"),
        ("inspect", "iris.csv", "--json"),
        ("plot", "lda.npz", "--output", "plot.svg"),
        ("show", "lda.npz"),
    ):
        code, said = melm(folder, missing, *arguments)
        assert code == ExitCode.DONE, said


@pytest.mark.parametrize(
    "arguments", [["models"], ["predict", "champion", "iris.csv"], ["fit", "iris.csv", "--target=species"]]
)
def test_client_and_tables_are_enough_to_ask_a_service(folder: Path, arguments: list[str]) -> None:
    code, said = melm(folder, SERVICE, *arguments, "--url", f"http://127.0.0.1:{free_port()}")
    assert code == ExitCode.UNREACHABLE, said


def test_the_core_shows_and_draws_models(folder: Path) -> None:
    for arguments in (
        ("show", "model.npz"),
        ("plot", "model.npz", "--output", "plot.svg"),
        ("report", "model.npz"),
        ("methods", "melm"),
        ("--help",),
    ):
        code, said = melm(folder, [*CLIENT, *TABLES, *SERVICE], *arguments)
        assert code == ExitCode.DONE, said


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["fit", "iris.csv", "--target", "species"], "tables"),
        (["models"], "client"),
        (["plot", "model.npz", "--output", "plot.png"], "service"),
        (["up"], "service"),
        (["keys", "list"], "service"),
        (["completion", "bash"], "service"),
    ],
)
def test_a_missing_extra_is_one_sentence(folder: Path, arguments: list[str], extra: str) -> None:
    code, said = melm(folder, [*CLIENT, *TABLES, *SERVICE], *arguments)
    assert code == ExitCode.WRONG_INPUT, said
    assert said.startswith("melm: ")
    assert said.endswith(f"pip install 'melm[{extra}]'\n")
    assert said.count("\n") == 1
