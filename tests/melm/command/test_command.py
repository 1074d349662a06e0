"""The `melm` command, locally and against a running service."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from melm import MELM
from melm.command import main, parser
from melm.command.failure import CommandError, ExitCode, explained
from melm.remote import Client, FitFailed, Interrupted
from tests.running_service import RunningService
from tests.servers import ROOT, wait_until
from tests.service import samples
from tests.service.test_tables import messy_csv, messy_rows

HEAVY = {"celery", "fastapi", "httpx2", "numpy", "pydantic", "redis", "scipy", "shtab", "sklearn", "tqdm", "uvicorn"}
QUICK = ["--regularization", "none", "--starts", "2", "--folds", "0", "--seed", "3"]
Melm = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run, with a table in it."""
    (tmp_path / "iris.csv").write_bytes(samples.irises_csv())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def melm(capsys: pytest.CaptureFixture[str]) -> Melm:
    """The command: what it writes to standard output, or to standard error where it is expected to fail."""

    def run(*arguments: str, code: int = ExitCode.DONE) -> str:
        capsys.readouterr()
        assert main(arguments) == code
        said = capsys.readouterr()
        return said.err if code else said.out

    return run


@pytest.fixture
def model_path(melm: Melm, folder: Path) -> str:
    """A model's file."""
    melm("fit", "iris.csv", "--target", "species", *QUICK)
    return "model.npz"


def commands() -> dict[str, ArgumentParser]:
    """The parsers of all subcommands."""
    choices: dict[str, ArgumentParser] = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr,assignment]
    return choices


def test_help_answers_at_once() -> None:
    program = "import sys\nfrom melm.command import main\ntry:\n    main(['--help'])\nfinally:\n    print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not HEAVY & set(run.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", commands())
def test_every_command_has_an_example_that_can_be_typed(name: str) -> None:
    epilog = commands()[name].epilog or ""
    assert epilog.startswith("example")
    for line in epilog.splitlines()[1:]:
        words = shlex.split(line.removeprefix("  cat iris.csv | ").removeprefix('  eval "$(').removesuffix(')"'))
        words = words[1 : next((place for place, word in enumerate(words) if word in ("|", ">")), None)]
        assert parser().parse_args(words).run


def test_a_fit_here_is_the_librarys_own(melm: Melm, folder: Path) -> None:
    said = json.loads(melm("fit", "iris.csv", "--target", "species", *QUICK, "--json", "--output", "mine.npz"))
    X, y = samples.iris_arrays()
    assert np.array_equal(
        MELM.load("mine.npz").projection_, MELM(regularization=None, n_starts=2, random_state=3).fit(X, y).projection_
    )
    assert said["model"] == "mine.npz"
    assert said["card"]["features"] == samples.FEATURES


def test_a_fit_says_what_the_model_is_worth(melm: Melm) -> None:
    said = melm("fit", "iris.csv", "--target", "species", "--method", "lda", "--folds", "3")
    assert "balanced" in said
    assert "(3 folds)" in said
    assert "setosa (50), versicolor (50), virginica (50)" in said


def test_a_fit_there_gives_the_same_file(melm: Melm, model_path: str, service: RunningService) -> None:
    there = ("--url", service.url, "--watch", "--output", "there.npz")
    melm("fit", "iris.csv", "--target", "species", *QUICK, *there)
    assert Path("there.npz").read_bytes() == Path(model_path).read_bytes()


def test_gamma_is_a_number_several_or_auto(melm: Melm) -> None:
    for given in ("2", "0.5,2", "auto"):
        out = melm(
            "fit",
            "iris.csv",
            "--target",
            "species",
            "--regularization",
            "none",
            "--starts",
            "1",
            "--folds",
            "0",
            "--gamma",
            given,
            "--json",
        )
        assert json.loads(out)["card"]["gamma"] in (0.5, 0.7, 1, 1.4, 2)


def test_predictions_as_csv_json_and_npz(melm: Melm, model_path: str) -> None:
    X, _ = samples.iris_arrays()
    expected = MELM.load(model_path).model_.predict(X)
    ask = ("predict", model_path, "iris.csv", "--target", "species")
    assert melm(*ask).split() == ["prediction", *expected]
    assert json.loads(melm(*ask, "--json"))["predictions"] == expected.tolist()
    melm(*ask, "--output", "predicted.npz")
    assert np.array_equal(np.load("predicted.npz")["predictions"], expected)
    assert "name a file that ends in .csv" in melm(*ask, "--output", "predicted.txt", code=ExitCode.WRONG_INPUT)


def test_rows_come_through_pipes(melm: Melm, model_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = b"\n".join(samples.irises_csv().splitlines()[:4])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table)))
    header, *rows = melm("transform", model_path, "-", "--target", "species").split()
    X, _ = samples.iris_arrays()
    assert header == "z0,z1"
    Z = [[float(value) for value in row.split(",")] for row in rows]
    assert np.array_equal(Z, MELM.load(model_path).model_.transform(X[:3]))


def test_npz_and_parquet_are_read_as_well(melm: Melm) -> None:
    X, y = samples.iris_arrays()
    Path("table").write_bytes(samples.npz(X=X, y=y, feature_names=np.array(samples.FEATURES)))
    melm("fit", "table", *QUICK, "--output", "of_npz.npz")
    columns: dict[str, Any] = {**dict(zip(samples.FEATURES, X.T, strict=True)), "species": y.tolist()}
    pyarrow.parquet.write_table(pa.table(columns), "iris.parquet")
    melm("fit", "iris.parquet", "--target", "species", *QUICK, "--output", "of_parquet.npz")
    assert Path("of_npz.npz").read_bytes() == Path("of_parquet.npz").read_bytes()


def test_columns_are_matched_by_name(melm: Melm, model_path: str) -> None:
    lines = [line.split(",") for line in samples.irises_csv().decode().splitlines()]
    Path("turned.csv").write_text("\n".join(",".join(line[::-1]) for line in lines))
    turned = melm("transform", model_path, "turned.csv", "--target", "species")
    assert turned == melm("transform", model_path, "iris.csv", "--target", "species")


def test_a_score(melm: Melm, model_path: str) -> None:
    ask = ("score", model_path, "iris.csv", "--target", "species")
    scores = json.loads(melm(*ask, "--json"))
    assert scores["n_rows"] == 150
    assert scores["balanced_accuracy"] > 0.95
    said = melm(*ask)
    assert f"{scores['accuracy']:.4g}" in said
    assert "true \\ predicted" in said


@pytest.mark.parametrize(("name", "begins"), [("plot.svg", b"<svg"), ("plot.png", b"\x89PNG")])
def test_a_plot(melm: Melm, model_path: str, name: str, begins: bytes) -> None:
    melm("plot", model_path, "--output", name)
    assert Path(name).read_bytes().startswith(begins)
    assert melm("plot", model_path, "--output", "-").startswith("<svg")
    assert "ends in .svg or .png" in melm("plot", model_path, "--output", "plot.pdf", code=ExitCode.WRONG_INPUT)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (
            "a,b,y\n" + "1,2,u\n3,4,v\n\n" * 5 + "1,x,v\n",
            [],
            "bad.csv: line 17 (row index 10), column 'b': 'x' is not a number, as the others are; --missing-values x "
            "where it stands for a missing value; --columns b=categorical where the column is text",
        ),
        (
            'a,b,y\n1,2,"u\nv"\n1,2,3,v\n',
            [],
            "bad.csv: line 4 (row index 1): there are 4 cells, the header has 3; --delimiter ';' where cells are "
            "not separated by ','; else mend the row",
        ),
        (
            "a,b\n1,2\n",
            [],
            "bad.csv: there is no column 'y'; --delimiter ';' where cells are not separated by ','; columns: a, b",
        ),
        ("a,y\n1,u\n2,u\n", [], "bad.csv: there is 1 class, not 2 or more; send rows of two classes"),
        ("", [], "bad.csv: the CSV is empty; send a header row, then one line a row"),
        ("a,y\n1,u\n", ["--components", "x"], '--components must be a whole number, not "x"'),
    ],
)
def test_a_bad_file_gets_one_line(melm: Melm, content: str, arguments: list[str], message: str) -> None:
    Path("bad.csv").write_text(content)
    ask = ("fit", "bad.csv", "--target", "y", *arguments)
    assert melm(*ask, code=ExitCode.WRONG_INPUT) == f"melm: {message}\n"


def test_a_table_with_every_mess_here_and_there(melm: Melm, service: RunningService) -> None:
    Path("messy.csv").write_bytes(messy_csv(messy_rows()))
    ask = ("fit", "messy.csv", "--target", "Befund", "--columns", "PLZ=ignore", *QUICK)
    melm(*ask)
    fitted = json.loads(melm(*ask, "--url", service.url, "--watch", "--json", "--output", "there.npz"))
    assert Path("there.npz").read_bytes() == Path("model.npz").read_bytes()
    assert [column["name"] for column in fitted["card"]["columns"]] == ["Größe", "Farbe", "Gewicht, kg"]
    for command in ("predict", "transform"):
        rows = ("messy.csv", "--target", "Befund")
        here = melm(command, "model.npz", *rows)
        assert here == melm(command, fitted["id"], *rows, "--url", service.url)
        assert here.splitlines()[0].endswith(",Nr")
    assert json.loads(melm("score", "model.npz", *rows, "--json"))["n_rows"] == 90


def test_files_that_cannot_be_read_are_named(melm: Melm, model_path: str) -> None:
    wrong = ExitCode.WRONG_INPUT
    assert melm("fit", "no.csv", code=wrong) == "melm: no.csv: no such file or directory\n"
    assert "iris.csv: which column holds the labels?" in melm("fit", "iris.csv", code=wrong)
    assert "iris.csv: This is not an undamaged model file" in melm("predict", "iris.csv", "iris.csv", code=wrong)
    Path("broken.npz").write_bytes(b"PK\x03\x04 and no more")
    assert melm("fit", "broken.npz", code=wrong).startswith("melm: broken.npz: ")
    assert melm("show", model_path).startswith("model ")


def test_parameters_that_cannot_be_are_named(melm: Melm, service: RunningService) -> None:
    ask = ("fit", "iris.csv", "--target", "species", "--components", "9")
    assert "9" in melm(*ask, code=ExitCode.WRONG_INPUT)
    assert "9 components are more than the 4" in melm(*ask, "--url", service.url, code=ExitCode.WRONG_INPUT)
    assert "'umap' is not a method" in melm(*ask, "--method", "umap", code=ExitCode.WRONG_INPUT)
    assert "pca takes no --starts" in melm(*ask[:4], "--method", "pca", "--starts", "3", code=ExitCode.WRONG_INPUT)
    assert "--output needs --watch" in melm(*ask, "--url", service.url, "--output", "m.npz", code=ExitCode.USAGE)


def test_the_whole_story_on_a_service(melm: Melm, model_path: str, service: RunningService) -> None:
    there = ("--url", service.url)
    submitted = json.loads(melm("fit", "iris.csv", "--target", "species", *QUICK, *there, "--json"))
    fitted = json.loads(melm("fit", "iris.csv", "--target", "species", *QUICK, *there, "--json", "--watch"))
    assert fitted["fit_id"] == submitted["id"]
    assert fitted["id"] in melm("models", *there)
    assert fitted["id"] in [each["id"] for each in json.loads(melm("models", *there, "--json"))]
    assert submitted["id"] in melm("fits", *there)
    assert submitted["id"] in [each["id"] for each in json.loads(melm("fits", *there, "--json"))]
    assert "succeeded" in melm("show", submitted["id"], *there)
    assert "(50)" in melm("show", submitted["dataset_id"], *there)
    with Client(service.url) as client:
        client.models[fitted["id"]].alias("of-the-story")
    assert fitted["id"] in melm("show", "of-the-story", *there)
    for command in ("predict", "transform"):
        ask = ("iris.csv", "--target", "species")
        assert melm(command, "of-the-story", *ask, *there) == melm(command, model_path, *ask)
    scores = json.loads(melm("score", "of-the-story", "iris.csv", "--target", "species", "--json", *there))
    assert scores["model_id"] == fitted["id"]
    assert melm("plot", "of-the-story", "--output", "-", *there).startswith("<svg")


def test_a_fit_is_canceled(melm: Melm, service: RunningService) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2_000, 20))
    Path("long.npz").write_bytes(samples.npz(X=X, y=(X[:, 0] > 0).astype(int)))
    submitted = json.loads(
        melm("fit", "long.npz", "--regularization", "none", "--starts", "500", "--url", service.url, "--json")
    )
    melm("cancel", submitted["id"], "--url", service.url)
    with Client(service.url) as client:
        fit = client.fits.attach(submitted["id"])
        wait_until(lambda: fit.refresh().status == "canceled")
    assert melm("cancel", fit.id, "--url", service.url) == f"{fit.id} is canceled\n"


def test_ctrl_c_leaves_the_fit_running_and_says_so(service: RunningService) -> None:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(2_000, 20))
    Path("long.npz").write_bytes(samples.npz(X=X, y=(X[:, 0] > 0).astype(int)))
    program = textwrap.dedent(
        """
        import sys
        from melm.remote import fits
        from melm.command import main
        follow = fits.follow
        def follow_and_say_so(*arguments, **options):
            print("waiting", flush=True)
            return follow(*arguments, **options)
        fits.follow = follow_and_say_so
        sys.exit(main())
        """
    )
    watch = [
        sys.executable,
        "-c",
        program,
        "fit",
        "long.npz",
        "--regularization",
        "none",
        "--starts",
        "500",
        "--watch",
        "--url",
        service.url,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with Client(service.url) as client:
        before = {fit.id for fit in client.fits}
        pipe = subprocess.PIPE
        with subprocess.Popen(watch, stdout=pipe, stderr=pipe, text=True, env=environment) as melm:
            assert melm.stdout is not None
            assert melm.stdout.readline() == "waiting\n"
            (fit,) = wait_until(lambda: [fit for fit in client.fits.list(status="running") if fit.id not in before])
            melm.send_signal(signal.SIGINT)
            _, said = melm.communicate()
        assert melm.returncode == ExitCode.INTERRUPTED
        assert said == f"melm: {fit.id} goes on; 'melm show {fit.id} --url {service.url}' says how it stands\n"
        assert fit.refresh().record.is_active
        fit.cancel()


def test_exit_codes_tell_what_went_wrong(melm: Melm, service: RunningService) -> None:
    missing = melm("show", "mdl_00000000000000000000000000", "--url", service.url, code=ExitCode.NOT_FOUND)
    assert missing == "melm: There is no model 'mdl_00000000000000000000000000'.\n"
    assert "does not answer" in melm("models", "--url", "http://127.0.0.1:1", code=ExitCode.UNREACHABLE)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CommandError("no"), ExitCode.WRONG_INPUT),
        (FitFailed("fit_1", "no start gave a result"), ExitCode.FAILED),
        (PermissionError("no"), ExitCode.WRONG_INPUT),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (Interrupted("fit_1", "fit_1 goes on", canceled=False), ExitCode.INTERRUPTED),
    ],
)
def test_what_is_to_be_expected_is_explained(error: BaseException, code: ExitCode) -> None:
    with explained() as outcome:
        raise error
    assert outcome.exit_code is code


def test_a_bug_is_not_explained_away() -> None:
    with pytest.raises(ZeroDivisionError), explained():
        raise ZeroDivisionError


def test_shells_complete_commands_and_options(melm: Melm, folder: Path) -> None:
    Path("completion.bash").write_text(melm("completion", "bash"))
    complete = 'source completion.bash; COMP_WORDS=({}); COMP_CWORD={}; _shtab_melm; echo "${{COMPREPLY[@]}}"'
    for words, place, expected in (("melm pre", 1, {"predict"}), ("melm fit --com", 2, {"--components"})):
        run = subprocess.run(
            ["bash", "-c", complete.format(words, place)], capture_output=True, text=True, cwd=folder, check=True
        )
        assert set(run.stdout.split()) == expected
    for shell in ("zsh", "fish", "tcsh"):
        script = melm("completion", shell)
        assert "predict" in script
        assert "select-start-by" in script  # which is read out of the methods
