"""The examples run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
