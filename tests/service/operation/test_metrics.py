import os
import subprocess
import sys
from pathlib import Path

from tests.servers import ROOT

HOLDER = """
import os, sys
from service.operation.metrics import shared_by
with shared_by(int(sys.argv[1])):
    print(os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""), flush=True)
    sys.stdin.read()
"""


def holder(root: Path, n_processes: int = 2) -> tuple[subprocess.Popen[str], Path]:
    """A process that shares its counts with others, and the folder in which it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(n_processes)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_shared_counts_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    killed, left_behind = holder(tmp_path)
    living, in_use = holder(tmp_path)
    killed.kill()
    killed.communicate()
    assert sorted(tmp_path.iterdir()) == sorted([left_behind, in_use])
    alone, no_folder = holder(tmp_path, n_processes=1)
    assert no_folder == Path()
    assert list(tmp_path.iterdir()) == [in_use]
    for process in (alone, living):
        process.communicate("")
    assert list(tmp_path.iterdir()) == []
