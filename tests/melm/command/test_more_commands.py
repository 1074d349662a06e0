"""What the page can do, from a shell: compare, report, rows, methods, probabilities; here and on a service alike."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm import MELM
from melm.command.failure import ExitCode
from melm.model.file import load
from melm.remote import Client, RemoteMELM
from tests.melm.command.conftest import Melm
from tests.messy_table import messy_csv, messy_frame, messy_rows
from tests.running_service import RunningService
from tests.service import samples
from tests.workbooks import workbook

QUICK = ["--regularization", "none", "--starts", "2", "--folds", "0", "--seed", "3"]
IRISES = ["iris.csv", "--target", "species"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which commands run, with tables in it."""
    (tmp_path / "iris.csv").write_bytes(samples.irises_csv())
    (tmp_path / "messy.csv").write_bytes(messy_csv())
    monkeypatch.chdir(tmp_path)


def fit_there(melm: Melm, service: RunningService, *ask: str) -> dict[str, Any]:
    """A model on the service."""
    found: dict[str, Any] = json.loads(melm("fit", *ask, "--url", service.url, "--watch", "--json").out)
    return found


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_parameters_of_methods_are_options(melm: Melm, service: RunningService) -> None:
    ask = [*IRISES, *QUICK, "--gamma", "0.5,2", "--ridge", "0.25", "--priors", "0.2,0.3,0.5", "--max-iterations", "40"]
    here = json.loads(melm("fit", *ask, "--json").out)["card"]
    there = fit_there(melm, service, *ask)["card"]
    for card in (here, there):
        asked = {name: card["parameters"][name] for name in ("gamma", "ridge", "priors", "max_iterations")}
        assert asked == {"gamma": [0.5, 2], "ridge": 0.25, "priors": [0.2, 0.3, 0.5], "max_iterations": 40}
    assert here["priors"] == there["priors"] == [0.2, 0.3, 0.5]
    standardized = json.loads(melm("fit", *IRISES, "--method", "pca", "--no-standardize", "--json").out)["card"]
    assert standardized["parameters"]["standardize"] is False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--starts", "0"], "--starts must be at least 1, not 0"),
        (["--gamma", "0.5,-1"], "--gamma must be greater than 0, not -1"),
        (["--folds", "1"], "--folds must be at least 2, not 1"),
        (["--covariance", "round"], "--covariance must be 'ledoit_wolf' or 'empirical', not \"round\""),
        (["--method", "lda", "--starts", "3"], "lda takes no --starts"),
        (["--method", "ldaa"], "'ldaa' is not a method; did you mean 'lda'?"),
    ],
)
def test_values_that_cannot_be_are_named_with_their_option(melm: Melm, given: list[str], message: str) -> None:
    assert melm("fit", *IRISES, *given, code=ExitCode.WRONG_INPUT).err.endswith(f"melm: {message}\n")


def test_what_only_a_service_can_do_needs_one(melm: Melm) -> None:
    for given in (["--name", "mine"], ["--metadata", "a=b"], ["--force"]):
        said = melm("fit", *IRISES, *given, code=ExitCode.USAGE).err
        assert said == f"melm: {given[0]} needs --url: it is for a service\n"


def test_name_and_metadata_go_along(melm: Melm, service: RunningService) -> None:
    given = ("--name", "irises of mine", "--metadata", "color=blue", "--metadata", "by=me", "--force")
    found = json.loads(melm("fit", *IRISES, *QUICK, *given, "--url", service.url, "--json").out)
    assert (found["name"], found["metadata"]) == ("irises of mine", {"color": "blue", "by": "me"})
    assert found["page"] == f"{service.url}/#/fits/{found['id']}"


def test_permuted_labels_are_permuted_alike_here_and_there(melm: Melm, service: RunningService) -> None:
    ask = [*IRISES, "--method", "lda", "--folds", "0", "--permute-labels", "7"]
    melm("fit", *ask)
    there = fit_there(melm, service, *ask)
    here = load(Path("model.npz").read_bytes())
    assert np.array_equal(here.projection, np.array(there["projection"]))
    assert here.card.permute_labels == there["card"]["permute_labels"] == 7


def test_a_time_budget_ends_a_fit_here(melm: Melm) -> None:
    said = melm("fit", *IRISES, *QUICK, "--time-budget-seconds", "1e-9", code=ExitCode.WRONG_INPUT).err
    assert "--time-budget-seconds 1e-09 is too little" in said
    melm("fit", *IRISES, *QUICK, "--time-budget-seconds", "1000")


def test_the_page_of_the_model_is_said_when_it_is_done(melm: Melm, service: RunningService) -> None:
    said = melm("fit", *IRISES, *QUICK, "--url", service.url, "--watch").out
    model = said.split()[1]
    assert said.splitlines()[-1].split() == ["page", f"{service.url}/#/models/{model}"]


@pytest.mark.filterwarnings("ignore::melm.remote.RowsWarning")
def test_equal_numbers_by_library_client_and_command(melm: Melm, service: RunningService) -> None:
    table = ["messy.csv", "--target", "finding", *QUICK]
    melm("fit", *table)
    of_command = load(Path("model.npz").read_bytes())
    of_service = fit_there(melm, service, *table)
    frame = messy_frame()
    labels = frame.pop("finding")
    remote = RemoteMELM(service.url, regularization=None, n_starts=2, random_state=3).fit(frame, labels)
    for projection in (np.array(of_service["projection"]), remote.projection_):
        assert np.array_equal(projection, of_command.projection)
    assert remote.features_.tolist() == of_command.features
    predicted = [row["prediction"] for row in read_csv(melm("predict", "model.npz", *table[:3]).out)]
    assert remote.predict(frame).tolist() == predicted
    X, y = samples.iris_arrays()
    melm("fit", *IRISES, *QUICK)
    local = MELM(regularization=None, n_starts=2, random_state=3).fit(X, y)
    assert np.array_equal(load(Path("model.npz").read_bytes()).projection, local.projection_)


def test_probabilities_and_densities_beside_labels_here_and_there(melm: Melm, service: RunningService) -> None:
    ask = ["messy.csv", "--target", "finding"]
    melm("fit", *ask, *QUICK)
    model = fit_there(melm, service, *ask, *QUICK)["id"]
    also = ("--probabilities", "--log-density")
    here = melm("predict", "model.npz", *ask, *also).out
    there = ("--url", service.url)
    assert melm("predict", model, *ask, *also, *there).out == here
    first = read_csv(here)[0]
    assert list(first) == ["prediction", "ill", "well", "log_density", "patient"]
    assert first["patient"] == messy_rows()[0][0]
    assert float(first["ill"]) + float(first["well"]) == pytest.approx(1)
    assert first["prediction"] == max(("ill", "well"), key=lambda label: float(first[label]))
    assert list(read_csv(melm("predict", "model.npz", *ask, "--log-density").out)[0]) == [
        "prediction",
        "log_density",
        "patient",
    ]
    found = [json.loads(melm("predict", *where, *also, "--json").out) for where in (["model.npz", *ask],)]
    assert found[0]["classes"] == ["ill", "well"]
    assert len(found[0]["log_density"]) == len(found[0]["predictions"]) == 90


@pytest.fixture
def other_files() -> list[str]:
    """The irises as Excel, Parquet, Arrow and JSON."""
    import pyarrow as pa
    import pyarrow.parquet

    rows = read_csv(samples.irises_csv().decode())
    table = {name: [row[name] for row in rows] for name in rows[0]}
    numbers = {name: [float(cell) for cell in cells] for name, cells in table.items() if name != "species"}
    columns = {**numbers, "species": table["species"]}
    lines = list(zip(*columns.values(), strict=True))
    Path("iris.xlsx").write_bytes(workbook({"irises": [list(columns), *lines], "more": [["a"], [dt.date(2024, 1, 5)]]}))
    pyarrow.parquet.write_table(pa.table(columns), "iris.parquet")
    with pa.OSFile("iris.arrow", "wb") as sink, pa.ipc.new_stream(sink, pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns))
    Path("iris.json").write_text(json.dumps({"rows": [dict(zip(columns, line, strict=True)) for line in lines]}))
    return ["iris.xlsx", "iris.parquet", "iris.arrow", "iris.json"]


def test_every_format_gives_the_same_model_from_files_and_pipes(
    melm: Melm, other_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    melm("fit", *IRISES, *QUICK, "--output", "csv.npz")
    expected = load(Path("csv.npz").read_bytes()).projection
    for name in other_files:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        for given in (name, "-"):
            melm("fit", given, "--target", "species", *QUICK, "--output", "other.npz")
            assert np.array_equal(load(Path("other.npz").read_bytes()).projection, expected), (name, given)


def test_methods_are_compared_alike_here_and_there(melm: Melm, service: RunningService) -> None:
    ask = ("--methods", "lda,pca,identity", "--folds", "3", "--components", "1")
    here = json.loads(melm("compare", *IRISES, *ask, "--json").out)
    there = json.loads(melm("compare", *IRISES, *ask, "--json", "--url", service.url).out)
    for mine, theirs in zip(here["methods"], there["methods"], strict=True):
        assert mine["method"] == theirs["method"]
        assert mine["card"]["validation"] == theirs["card"]["validation"]
    first = there["methods"][0]["model"]
    assert there["page"] == f"{service.url}/#/models/{first}/compare"
    said = melm("compare", first, *ask, "--url", service.url).out.splitlines()
    assert said[0].split() == ["method", "held", "out", "interval", "in", "sample", "model"]
    assert [line.split()[0] for line in said[1:4]] == ["lda", "pca", "identity"]
    assert said[4].startswith("ceiling: ")


def test_a_method_that_is_not_possible_says_why(melm: Melm, service: RunningService) -> None:
    lines = (f"{(7 * i) % 11 - 5}.5,{i % 5}.5,{'uv'[i % 2]}" for i in range(40))
    Path("narrow.csv").write_text("\n".join(["a,b,y", *lines]))
    ask = ("narrow.csv", "--target", "y", "--methods", "pca,lda", "--components", "3", "--folds", "0")
    for where in ((), ("--url", service.url)):
        pca, lda = melm("compare", *ask, *where).out.splitlines()[1:3]
        assert "not possible: " in pca
        assert "not possible" not in lda


def test_a_report_is_one_file_here_and_there(melm: Melm, service: RunningService) -> None:
    ask = [*IRISES, "--method", "lda", "--folds", "3"]
    melm("fit", *ask)
    model = fit_there(melm, service, *ask)
    melm("report", "model.npz")
    melm("report", model["id"], "--url", service.url, "--output", "there.html")
    for name in ("report.html", "there.html"):
        text = Path(name).read_text()
        assert text.startswith("<!doctype html>")
        assert model["card"]["verdict"]["sentence"].partition(":")[0] in text
        assert "<svg" in text
    assert melm("report", "model.npz", "--output", "-").out.startswith("<!doctype html>")
    described = json.loads(melm("report", "model.npz", "--json").out)
    assert described["projection"] == model["projection"]


def test_a_plot_as_numbers(melm: Melm, service: RunningService) -> None:
    melm("fit", *IRISES, *QUICK)
    model = fit_there(melm, service, *IRISES, *QUICK)["id"]
    here = json.loads(melm("plot", "model.npz", "--json").out)
    there = json.loads(melm("plot", model, "--json", "--url", service.url).out)
    assert here["panels"] == there["panels"]


def test_rows_come_back_as_they_were_sent(melm: Melm, service: RunningService) -> None:
    dataset = fit_there(melm, service, "messy.csv", "--target", "finding", *QUICK)["dataset_id"]
    there = ("--url", service.url)
    rows = read_csv(melm("rows", dataset, *there).out)
    assert [row["patient"] for row in rows] == [row[0] for row in messy_rows()]
    assert [row["finding"] for row in rows] == [row[-1] for row in messy_rows()]
    columns = json.loads(melm("rows", dataset, "--row", "2", "--id", messy_rows()[5][0], "--json", *there).out)
    assert columns["patient"] == [int(messy_rows()[2][0]), int(messy_rows()[5][0])]
    assert dataset in melm("datasets", *there).out
    assert dataset in [each["id"] for each in json.loads(melm("datasets", "--json", *there).out)]


def test_what_is_deleted_is_gone(melm: Melm, service: RunningService) -> None:
    Path("mine.csv").write_text("\n".join(["a,y", *(f"{i % 7}.5,{'uv'[i % 2]}" for i in range(40))]))
    there = ("--url", service.url)
    ask = ("mine.csv", "--target", "y", "--method", "pca", "--components", "1", "--folds", "0")
    model = fit_there(melm, service, *ask)
    melm("download", model["id"], *there)
    uploaded = melm("upload", "model.npz", "--name", "mine", "--alias", "for-deletion", *there).out.split()
    assert uploaded[:1] == ["model"]
    again = uploaded[1]
    assert melm("show", "for-deletion", *there).out.split()[1] == again
    assert melm("delete", "for-deletion", again, model["id"], *there).out.splitlines() == [
        f"{thing} is deleted" for thing in ("for-deletion", again, model["id"])
    ]
    assert json.loads(melm("delete", model["dataset_id"], "--json", *there).out) == {"deleted": [model["dataset_id"]]}
    for thing in (again, model["dataset_id"], "for-deletion"):
        melm("show", thing, *there, code=ExitCode.NOT_FOUND)
    assert "is a fit" in melm("delete", model["fit_id"], *there, code=ExitCode.WRONG_INPUT).err


def test_methods_and_their_parameters_are_listed_here_and_there(melm: Melm, service: RunningService) -> None:
    for where in ((), ("--url", service.url)):
        said = melm("methods", *where).out.splitlines()
        assert said[1].split()[0] == "melm"
        described = melm("methods", "melm", *where).out
        assert "--select-start-by" in described
    assert "not a method" in melm("methods", "umap", code=ExitCode.NOT_FOUND).err
    assert json.loads(melm("methods", "lda", "--json").out)["name"] == "lda"


def test_a_canceled_fit_goes_on(melm: Melm, service: RunningService) -> None:
    generator = np.random.default_rng(5)
    X = generator.normal(size=(2_000, 20))
    Path("long.npz").write_bytes(samples.npz(X=X, y=(X[:, 0] > 0).astype(int)))
    there = ("--url", service.url)
    fit = json.loads(melm("fit", "long.npz", "--regularization", "none", "--starts", "400", *there, "--json").out)["id"]
    melm("cancel", fit, *there)
    with Client(service.url) as client:
        client.fits.attach(fit)._follow(None, progress=False)
        assert melm("retry", fit, *there).out.startswith(f"{fit} is ")
        client.fits.attach(fit).cancel()


def test_a_fit_on_a_service_is_named_after_its_file(melm: Melm, service: RunningService) -> None:
    ask = (*IRISES, "--method", "pca", "--folds", "0", "--force")
    names = [fit_there(melm, service, *ask, *more)["name"] for more in ((), ("--name", "mine"))]
    assert names == ["iris", "mine"]
