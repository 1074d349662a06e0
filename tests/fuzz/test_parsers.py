"""A short run of `make fuzz`, always the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.servers import ROOT


@pytest.mark.slow
def test_every_parser_ends_in_a_declared_error_within_its_memory() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--examples", "15"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
