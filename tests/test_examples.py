"""The examples run: the one of a session with a service as a script, two of the gallery in a Jupyter kernel.

The whole gallery is run where the documentation is built.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient

from tests.notebooks import as_notebook
from tests.running_service import RunningService
from tests.servers import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs_and_draws(example: Path, service: RunningService, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, example, service.url],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == "", "nobody looks, so there is no bar"
    assert "balanced accuracy 0.9" in run.stdout
    assert next(tmp_path.glob("*.svg")).read_text().startswith("<svg")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plot_01_first_picture", "plot_02_is_it_real"])
def test_an_example_runs_in_a_jupyter_kernel(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = as_notebook(ROOT / "examples" / "gallery" / f"{name}.py")
    client = NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert pictures, "a picture is drawn where it is made"
    assert not [output for output in outputs if output.get("name") == "stderr"]
