"""A run in processes: it can be ended at any moment, goes on from there, and always gives the same files."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.paper.entrants import Entrant
from bench.paper.run import Failed, run_tasks
from bench.paper.tasks import StrictSeparability
from tests.bench.paper.synthetic import write_data_set
from tests.servers import ROOT

ENDED = 130


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data_set(folder, "heart")
    return folder


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run gives that nobody ends."""
    build = tmp_path_factory.mktemp("undisturbed")
    run = start(data, build)
    assert run.wait() == 0
    assert f"Written: {build / 'part' / 'paper.md'}" in said(run)
    return files_of(build)


def start(data: Path, build: Path) -> subprocess.Popen[bytes]:
    options = ["--quick", "--data-sets", "heart", "--entrants", "pca", "--processes", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "bench.paper", *options, "--data", data, "--build", build],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def wait_for_results(run: subprocess.Popen[bytes]) -> None:
    """Until the progress bar counts some."""
    assert run.stdout is not None
    shown = b""
    while not re.search(rb" [1-9]\d*/\d+ ", shown):
        more = os.read(run.stdout.fileno(), 4096)
        assert more, f"The run ended early: {shown!r}"
        shown += more


def said(run: subprocess.Popen[bytes]) -> str:
    assert run.stdout is not None
    with run.stdout as output:
        return output.read().decode()


def files_of(build: Path) -> dict[str, bytes]:
    folder = build / "part"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_writes_tables_page_and_figures(undisturbed: dict[str, bytes]) -> None:
    figures = {f"images/paper-{name}.svg" for name in ("heart", "histograms", "starts")}
    assert undisturbed.keys() == {"results.csv", "starts.csv", "paper.md"} | figures


def test_a_killed_run_leaves_no_process_and_goes_on_to_the_same_files(
    data: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    run = start(data, tmp_path)
    wait_for_results(run)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    handles = [os.pidfd_open(int(child)) for child in children]
    run.kill()
    run.wait()
    for handle in handles:
        select.select([handle], [], [])  # until that process has ended
        os.close(handle)
    assert said(run) is not None
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").glob("*.json")}
    assert kept

    again = start(data, tmp_path)
    assert again.wait() == 0, said(again)
    assert "Written" in said(again)
    assert files_of(tmp_path) == undisturbed
    assert kept == {path: path.stat().st_mtime_ns for path in kept}, "what was kept is not worked out again"


def test_ctrl_c_ends_a_run_in_words(data: Path, tmp_path: Path) -> None:
    run = start(data, tmp_path)
    wait_for_results(run)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait() == ENDED
    text = said(run)
    assert text.rstrip().endswith("Stopped. The same command goes on from here.")
    assert "Traceback" not in text


def test_other_data_give_other_results(data: Path, tmp_path: Path) -> None:
    task = StrictSeparability("heart", Entrant("pca"), "true", repeats=1)
    write_data_set(tmp_path, "heart", seed=1)
    (first,) = run_tasks([task], data, tmp_path / "results", 1).values()
    (second,) = run_tasks([task], tmp_path, tmp_path / "results", 1).values()
    assert first != second
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_a_kept_result_is_taken(data: Path, tmp_path: Path) -> None:
    task = StrictSeparability("heart", Entrant("pca"), "true", repeats=1)
    run_tasks([task], data, tmp_path, 1)
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(["kept"]))
    assert run_tasks([task], data, tmp_path, 1) == {task: ["kept"]}


def test_a_task_that_cannot_be_done_is_named(data: Path, tmp_path: Path) -> None:
    task = StrictSeparability("heart", Entrant("pca", {"n_components": 14}), "true", repeats=1)
    with pytest.raises(Failed, match=r"StrictSeparability.*heart.*'n_components': 14.*larger than the number"):
        run_tasks([task], data, tmp_path, 1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--repeats", "0"], "'0' is not a whole number of at least 1"),
        (["--data-sets", "iris"], "invalid choice: 'iris'"),
        (["--data", "nowhere"], "nowhere has no australian.csv"),
    ],
)
def test_bad_options_are_explained(options: list[str], complaint: str) -> None:
    run = subprocess.run([sys.executable, "-m", "bench.paper", *options], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode in (1, 2)
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr
