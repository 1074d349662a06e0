"""Tables as they are found, through the command line: here and on a service, from file to prediction."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from melm import MELM
from melm.command.failure import ExitCode
from melm.model.file import load
from tests.melm.command.conftest import Melm
from tests.messy_table import FEATURES, cleaned_by_hand, messy_csv, messy_rows
from tests.running_service import RunningService

QUICK = ["--regularization", "none", "--starts", "2", "--folds", "0", "--seed", "3"]
FIT = ["fit", "messy.csv", "--target", "finding"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which commands run, with the table in it."""
    (tmp_path / "messy.csv").write_bytes(messy_csv())
    monkeypatch.chdir(tmp_path)


def test_from_file_to_prediction_here_and_there(melm: Melm, service: RunningService) -> None:
    melm(*FIT, *QUICK)
    there = ("--url", service.url)
    fitted = json.loads(melm(*FIT, *QUICK, *there, "--watch", "--json", "--output", "there.npz").out)
    assert Path("there.npz").read_bytes() == Path("model.npz").read_bytes()

    X, y = cleaned_by_hand()
    by_hand = MELM(regularization=None, n_starts=2, random_state=3).fit(X, y)
    assert np.array_equal(load(Path("model.npz").read_bytes()).projection, by_hand.projection_)

    rows = ("messy.csv", "--target", "finding")
    predicted = melm("predict", "model.npz", *rows).out
    assert predicted == melm("predict", fitted["id"], *rows, *there).out
    ids = [row[0] for row in messy_rows()]
    expected = [f"{label},{id}" for label, id in zip(by_hand.predict(X), ids, strict=True)]
    assert predicted.split() == ["prediction,patient", *expected]
    assert melm("transform", "model.npz", *rows).out == melm("transform", fitted["id"], *rows, *there).out
    scores = [
        json.loads(melm("score", *where, "--json").out)
        for where in (("model.npz", *rows), (fitted["id"], *rows, *there))
    ]
    assert scores[0]["confusion"] == scores[1]["confusion"]
    assert melm("plot", "model.npz", "--output", "-").out.startswith("<svg")


def test_roles_are_shown_with_reasons_and_can_be_set(melm: Melm, service: RunningService) -> None:
    for where in ((), ("--url", service.url, "--watch")):
        said = melm(*FIT, *QUICK, "--columns", "zip=ignore", *where).err
        lines = {line.split("  ")[1]: " ".join(line.split()) for line in said.splitlines() if line.startswith("  ")}
        assert lines["patient"] == "patient id all values differ and increase: id"
        assert lines["zip"] == "zip ignore set by the caller"
        assert lines["clinic"] == "clinic ignore text that is the same in every row"
    shown = melm("show", "model.npz").out
    assert "missing values take" in shown
    assert 'blue, pale "green", red, other, missing' in shown
    assert "zip" not in shown
    fitted = json.loads(melm(*FIT, *QUICK, "--url", service.url, "--watch", "--json").out)
    assert "all values differ and increase: id" in melm("show", fitted["dataset_id"], "--url", service.url).out


def test_every_problem_of_a_file_has_a_line_with_the_option_that_solves_it(melm: Melm) -> None:
    rows = messy_rows()
    rows[3][1], rows[20][4] = "tall", "heavy"
    Path("messy.csv").write_bytes(messy_csv(rows))
    assert melm(*FIT, code=ExitCode.WRONG_INPUT).err.splitlines() == [
        "melm: messy.csv: line 5 (row index 3), column 'height': 'tall' is not a number, as the others are; "
        "--missing-values tall where it stands for a missing value; --columns height=categorical where the "
        "column is text",
        "melm: messy.csv: line 22 (row index 20), column 'weight, kg': 'heavy' is not a number, as the others are; "
        "--missing-values heavy where it stands for a missing value; --columns 'weight, kg=categorical' where the "
        "column is text",
    ]
    melm(*FIT, *QUICK, "--missing-values", "tall", "--missing-values", "heavy")


def test_gaps_are_refused_on_request(melm: Melm, service: RunningService) -> None:
    for where in ((), ("--url", service.url)):
        first, second = melm(*FIT, "--missing", "refuse", *where, code=ExitCode.WRONG_INPUT).err.splitlines()
        assert first == (
            "melm: messy.csv: column 'height': 9 values are missing; --missing impute to fill them in; --drop-missing "
            "to leave these rows out"
        )
        assert "column 'color': 7 values are missing" in second


def test_rows_that_do_not_fit_the_model_are_explained_here_and_there(melm: Melm, service: RunningService) -> None:
    melm(*FIT, *QUICK)
    model = json.loads(melm(*FIT, *QUICK, "--url", service.url, "--watch", "--json").out)["id"]
    kept = [index for index, name in enumerate(["patient", *FEATURES]) if name not in ("zip", "dose")]
    header = ["patient", *FEATURES]
    Path("short.csv").write_bytes(
        messy_csv([[row[index] for index in kept] for row in messy_rows()], [header[index] for index in kept])
    )
    rows = messy_rows()
    rows[2][4], rows[2][2] = "", "mauve"
    Path("gap.csv").write_bytes(messy_csv(rows))
    rows[2][4] = "70"
    Path("unseen.csv").write_bytes(messy_csv(rows))
    for where in (("model.npz",), (model, "--url", service.url)):
        name, *url = where
        short = melm("predict", name, "short.csv", *url, code=ExitCode.WRONG_INPUT).err.splitlines()
        assert [line.partition(";")[0] for line in short] == [
            "melm: short.csv: there is no column 'zip'",
            "melm: short.csv: there is no column 'dose'",
        ]
        gap = melm("predict", name, "gap.csv", *url, code=ExitCode.WRONG_INPUT).err
        assert gap.startswith("melm: gap.csv: line 4 (row index 2), column 'weight, kg': the value is missing")
        warned = melm("predict", name, "unseen.csv", *url).err
        assert "clinic, finding" in warned
        assert "mauve" in warned


def test_noise_is_said_to_be_noise(melm: Melm, service: RunningService) -> None:
    generator = np.random.default_rng(0)
    cells = generator.normal(size=(90, 40)).round(3).tolist()
    lines = [",".join([*map(str, row), "ab"[index % 2]]) for index, row in enumerate(cells)]
    Path("noise.csv").write_text("\n".join([",".join([*(f"x{j}" for j in range(40)), "y"]), *lines]))
    ask = ("fit", "noise.csv", "--target", "y", "--method", "lda", "--folds", "3", "--permutations", "20")
    for where in ((), ("--url", service.url, "--watch")):
        said = melm(*ask, "--bootstraps", "3", *where).out
        assert "Noise: fits to permuted labels recognize held-out rows as well as this one." in said
        assert "20 permutations" in said
        assert "3 fits to bootstrap samples" in said
