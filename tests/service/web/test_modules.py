"""The page's modules that have logic, by node's own test runner."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.servers import ROOT

PARTS = ["service/web", "tests/service/web"]


def test_the_pages_modules_pass_their_tests(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the page's modules are tried by the browser only")
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))  # as the page's script elements say it
    np.savez(
        tmp_path / "arrays.npz", Z=np.arange(6).reshape(3, 2) / 2, codes=np.array([0, 1, 1]), names=np.array(["a"])
    )
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("node_modules", "package*.json"))
    tests = sorted(map(str, (tmp_path / "tests").rglob("*.test.js")))
    run = subprocess.run(["node", "--test", *tests], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert re.search(r"pass [1-9]", run.stdout), "none was found"
