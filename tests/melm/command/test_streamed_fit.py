"""`melm fit` on a folder of files, and on a file that is large."""

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from melm import MELM
from melm.command import main
from melm.command.failure import ExitCode
from melm.model import file as model_file

N_ROWS = 3000
QUICK = ["--regularization", "none", "--starts", "2", "--folds", "0"]


@pytest.fixture(name="table")
def labeled_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """A table that lies in the working directory as a folder of files and as CSV."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    X = generator.standard_normal((N_ROWS, 3)) + y[:, None] * [2, 0, 0]
    whole = np.where(np.arange(N_ROWS) < 2000, 1.0 + y, 1.5)  # whole numbers first, as far as CSV is looked at
    columns = {"a": X[:, 0], "b": X[:, 1], "c": whole, "kind": np.array(["no", "yes"])[y], "row": np.arange(N_ROWS)}
    table = pa.table(columns)
    Path("rows").mkdir()
    for part in range(3):
        pa.parquet.write_table(table.slice(part * 1000, 1000), f"rows/{part}.parquet")
    pa.csv.write_csv(table, "rows.csv", pa.csv.WriteOptions(delimiter=";", quoting_style="none"))
    return table


def test_a_folder(table: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "rows", "--target", "kind", "--columns", "row=ignore", *QUICK]) == ExitCode.DONE
    assert "model.npz" in capsys.readouterr().out
    fitted = MELM.load("model.npz")
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.model_.card.data.n_rows == N_ROWS


def test_its_evidence_is_that_of_all_rows(table: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--target", "kind", "--columns", "row=ignore", "--method", "lda", "--folds", "2"]
    assert main(["fit", "rows", *arguments]) == ExitCode.DONE
    card = model_file.load(Path("model.npz").read_bytes()).card
    assert card.validation is not None
    assert np.sum(card.validation.confusion) == N_ROWS


def test_a_large_csv(table: pa.Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("melm.command.streamed_fit.LARGE_BYTES", 1000)
    arguments = ["--target", "kind", "--columns", "row=ignore", *QUICK]
    assert main(["fit", "rows.csv", "--delimiter", ";", *arguments]) == ExitCode.DONE
    of_csv = MELM.load("model.npz")
    assert main(["fit", "rows", *arguments]) == ExitCode.DONE
    np.testing.assert_allclose(of_csv.projection_, MELM.load("model.npz").projection_, atol=1e-12)


def test_the_bar_counts_passes(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["fit", "rows", "--target", "kind", "--columns", "row=ignore", *QUICK]) == ExitCode.DONE
    said = terminal.getvalue()
    assert "reading" in said
    assert "pass 4" in said
    assert "/3.00k" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rows"], "Name it by --target"),
        (["rows", "--target", "species"], "There is no column 'species'"),
        (["rows", "--target", "a", "--columns", "row=ignore"], "columns are not: 'kind' (string)"),
        (["rows", "--target", "kind", "--columns", "row=id"], "numeric, ignore or target, not id"),
        (["rows", "--target", "kind", "--drop-missing"], "read without --drop-missing"),
        (["rows", "--target", "kind", "--url", "http://127.0.0.1:9"], "fitted on this machine"),
        (["rows", "--target", "kind", "--method", "nca"], "needs all rows in memory"),
        (["nothing", "--target", "kind"], "cannot be read: expected a file"),
    ],
)
def test_what_is_wrong_is_one_line(
    table: pa.Table, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("nothing").mkdir()
    assert main(["fit", *arguments]) in (ExitCode.WRONG_INPUT, ExitCode.USAGE)
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("melm: ")
    assert said.count("\n") == 1


def test_csv_that_contradicts_itself_is_refused(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("melm.command.streamed_fit.LARGE_BYTES", 1000)
    text = "a,kind\n" + "1,x\n2,y\n" * 300_000
    for end, words in (("text,x\n", "invalid value 'text'"), ("1,x,3\n", "Expected 2 columns, got 3")):
        Path("bad.csv").write_text(text + end)
        assert main(["fit", "bad.csv", "--target", "kind", *QUICK]) == ExitCode.WRONG_INPUT
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
