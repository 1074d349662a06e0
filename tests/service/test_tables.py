"""A table with every mess, from file to prediction over HTTP."""

import csv
import io
import json
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from threadpoolctl import threadpool_limits

from melm.data.labeled import Labeled
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import file as model_file
from melm.plan import run_plan
from tests.service import samples
from tests.workbooks import Cell, workbook

CSV = {"Content-Type": "text/csv"}
HEADER = ["Nr", "Größe", "Farbe", "PLZ", "Bemerkung", "Gewicht, kg", "Befund"]
N_ROWS = 90


def messy_rows() -> list[list[str]]:
    """An id, decimal commas, gaps written in many ways, rare categories, leading zeros, remarks, quotes."""
    generator = np.random.default_rng(0)
    rows = []
    for index in range(N_ROWS):
        sick = index % 2
        size = f"{generator.normal(170 + 8 * sick, 6):.2f}".replace(".", ",")
        color = ["rot", "blau", 'hell"grün"'][int(np.clip(generator.normal(0.6 + sick), 0, 2))]
        rows.append(
            [
                str(90000 + 7 * index),
                ["NA", "", "?"][index % 3] if index % 11 == 0 else size,
                "null"
                if index % 13 == 0
                else "türkis"
                if index in (5, 25, 45)
                else "ocker"
                if index in (15, 35)
                else color,
                f"0{1000 + index % 4}",
                f"siehe Blatt {index % 70}",
                f"{generator.normal(70, 9):.1f}".replace(".", ","),
                "krank" if sick else "gesund",
            ]
        )
    return rows


def messy_csv(rows: list[list[str]], header: list[str] = HEADER) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8-sig")


@pytest.fixture(scope="module")
def messy(api: Any) -> dict[str, Any]:
    """The dataset's summary and the model's id."""
    with api.client() as client:
        created = client.post("/v1/datasets?target=Befund", content=messy_csv(messy_rows()), headers=CSV)
        assert created.status_code in (200, 201), created.text
        dataset = created.json()
        ask = {
            "dataset_id": dataset["id"],
            "params": {"regularization": None, "n_starts": 2},
            "validation": {"folds": 3},
        }
        fit = samples.fit(client, ask)
        assert fit["status"] == "succeeded", fit["error"]
        return {"dataset": dataset, "model_id": fit["model_id"]}


def test_the_summary_tells_roles_and_reasons(messy: dict[str, Any]) -> None:
    columns = {column["name"]: column for column in messy["dataset"]["columns"]}
    assert {name: column["role"] for name, column in columns.items()} == {
        "Nr": "id",
        "Größe": "numeric",
        "Farbe": "categorical",
        "PLZ": "categorical",
        "Bemerkung": "ignore",
        "Gewicht, kg": "numeric",
        "Befund": "target",
    }
    assert columns["Nr"]["reason"] == "all values differ and increase: id"
    assert columns["Größe"]["n_missing"] == 9
    assert columns["Farbe"]["categories"] == ["blau", 'hell"grün"', "ocker", "rot", "türkis"]
    assert messy["dataset"]["feature_names"] == ["Größe", "Farbe", "PLZ", "Gewicht, kg"]


def test_the_same_table_cleaned_by_hand_gives_the_same_model(client: httpx2.Client, messy: dict[str, Any]) -> None:
    rows = messy_rows()
    size = np.array([np.nan if row[1] in ("NA", "", "?") else float(row[1].replace(",", ".")) for row in rows])
    missing = np.isnan(size)
    size[missing] = np.nanmedian(size)
    colors = [
        "(missing)" if row[2] == "null" else "(other)" if row[2] in ("ocker", "türkis") else row[2] for row in rows
    ]
    X = np.column_stack(
        [
            size,
            missing,
            *([color == value for color in colors] for value in ("blau", 'hell"grün"', "rot", "(other)", "(missing)")),
            *([row[3] == f"0{1000 + i}" for row in rows] for i in range(4)),
            [float(row[5].replace(",", ".")) for row in rows],
        ]
    ).astype(float)
    data = Labeled.check(np.ascontiguousarray(X), [row[6] for row in rows])
    parameters = METHODS["melm"].Parameters.model_validate({"regularization": None, "n_starts": 2})
    with threadpool_limits(1):
        by_hand = run_plan(
            plan_fit("melm", data, parameters),
            lambda stage: [run_unit("melm", data, parameters, unit) for unit in stage.units],
        )
    file = client.get(f"/v1/models/{messy['model_id']}/file", headers={"Accept": "application/x-npz"}).content
    model = model_file.load(file)
    assert np.array_equal(model.projection, by_hand.projection)
    predicted = client.post(f"/v1/models/{messy['model_id']}/predict", content=messy_csv(rows), headers=CSV)
    assert [row["prediction"] for row in csv.DictReader(io.StringIO(predicted.text))] == by_hand.predict(X).tolist()


def test_rows_in_every_media_type_and_any_order(client: httpx2.Client, messy: dict[str, Any]) -> None:
    path = f"/v1/models/{messy['model_id']}/transform"
    rows = messy_rows()[:20]
    by_csv = client.post(path, content=messy_csv(rows), headers={**CSV, "Accept": "application/json"}).json()
    assert by_csv["ids"] == [90000 + 7 * index for index in range(20)]
    records = [as_record(row) for row in rows]
    by_json = client.post(path, json={"rows": records}).json()
    columns = {name: [record[name] for record in records] for name in reversed(HEADER[:6])}
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    headers = {"Content-Type": "application/vnd.apache.parquet", "Accept": "application/json"}
    by_parquet = client.post(path, content=sink.getvalue(), headers=headers).json()
    assert by_csv["Z"] == by_json["Z"] == by_parquet["Z"]
    assert by_csv["ids"] == by_json["ids"] == by_parquet["ids"]
    table = client.post(path, content=messy_csv(rows), headers=CSV).text.splitlines()
    assert table[0] == "z0,z1,Nr"
    assert table[1].endswith(",90000")


def as_record(row: list[str]) -> dict[str, Any]:
    """A row as a program would send it."""

    def number(text: str) -> float | None:
        return None if text in ("NA", "", "?") else float(text.replace(",", "."))

    return {
        "Gewicht, kg": number(row[5]),
        "PLZ": row[3],
        "Nr": int(row[0]),
        "Farbe": None if row[2] == "null" else row[2],
        "Größe": number(row[1]),
        "Bemerkung": row[4],
    }


def test_missing_and_extra_columns(client: httpx2.Client, messy: dict[str, Any]) -> None:
    path = f"/v1/models/{messy['model_id']}/predict"
    record = as_record(messy_rows()[1])
    answer = client.post(path, json={"rows": [record | {"Farbe": "lila", "Alter": 3}]})
    assert "Alter" in answer.json()["warnings"][0]
    assert "never or too rarely, taken as other: lila" in answer.json()["warnings"][1]
    assert json.loads(answer.headers["Melm-Warnings"]) == answer.json()["warnings"]

    del record["PLZ"], record["Größe"]
    problem = client.post(path, json={"rows": [record]})
    assert problem.status_code == 422
    assert {error["pointer"] for error in problem.json()["errors"]} == {"/PLZ", "/Größe"}

    gap = client.post(path, json={"rows": [as_record(messy_rows()[1]) | {"Gewicht, kg": None}]})
    assert gap.status_code == 422
    assert "no training row lacked it" in gap.json()["errors"][0]["detail"]


def test_the_schema_tells_columns_types_and_gaps(client: httpx2.Client, messy: dict[str, Any]) -> None:
    schema = client.get(f"/v1/models/{messy['model_id']}/schema").json()
    assert schema["required"] == ["Größe", "Farbe", "PLZ", "Gewicht, kg"]
    properties = schema["properties"]
    assert properties["Größe"]["type"] == ["number", "null"]
    assert properties["Gewicht, kg"]["type"] == "number"
    assert properties["Farbe"]["examples"] == ["blau", 'hell"grün"', "rot"]


def test_scoring_a_table(client: httpx2.Client, messy: dict[str, Any]) -> None:
    path = f"/v1/models/{messy['model_id']}/score?target=Befund"
    score = client.post(path, content=messy_csv(messy_rows()), headers=CSV).json()
    assert score["n_rows"] == N_ROWS
    assert score["balanced_accuracy"] > 0.7


def test_roles_are_settable(client: httpx2.Client) -> None:
    roles = {"Nr": "group", "PLZ": "ignore", "Befund": "target", "Bemerkung": "categorical"}
    params = {"columns": json.dumps(roles)}
    dataset = client.post("/v1/datasets", params=params, content=messy_csv(messy_rows()), headers=CSV).json()
    assert {column["name"]: column["role"] for column in dataset["columns"]} == {
        **roles,
        "Größe": "numeric",
        "Farbe": "categorical",
        "Gewicht, kg": "numeric",
    }
    rows = [{"a": index % 7, "b": index % 3, "y": "pq"[index % 2]} for index in range(12)]
    body = {"rows": rows, "columns": {"b": "categorical", "y": "target"}, "name": "by name"}
    dataset = client.post("/v1/datasets", json=body).json()
    assert [column["role"] for column in dataset["columns"]] == ["numeric", "categorical", "target"]
    assert dataset["name"] == "by name"


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"target": "Befund", "missing": "refuse"}, "9 values are missing"),
        ({"target": "Befund", "columns": '{"Alter": "numeric"}'}, "no column 'Alter'"),
        ({"target": "Befund", "columns": '{"PLZ": "feature"}'}, "is not a role"),
        ({"target": "Befund", "columns": "age"}, "JSON object"),
        ({}, "labels are missing"),
    ],
)
def test_what_cannot_be_stored_says_why(client: httpx2.Client, params: dict[str, str], word: str) -> None:
    problem = client.post("/v1/datasets", params=params, content=messy_csv(messy_rows()), headers=CSV)
    assert problem.status_code == 422, problem.text
    assert any(word in error["detail"] for error in problem.json()["errors"]), problem.text


def test_a_plain_table_is_the_matrix_that_it_always_was(client: httpx2.Client, dataset_id: str) -> None:
    table = client.post("/v1/datasets?target=species", content=samples.irises_csv(), headers=CSV).json()
    assert table["id"] == dataset_id


def test_the_report_shows_the_columns_with_their_gaps(client: httpx2.Client, messy: dict[str, Any]) -> None:
    report = client.get(f"/v1/models/{messy['model_id']}/report", headers={"Accept": "text/html"}).text
    assert "Größe" in report
    assert f"{9 / N_ROWS:.1%}" in report


EXCEL = {"Content-Type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}


def sheet_of(rows: list[list[str]]) -> bytes:
    """The messy table as somebody keeps it in Excel: below a title, and not in the first column."""
    above: list[list[Cell]] = [["Befunde 2024"], [], [*HEADER]]
    return workbook({"Notizen": [["nichts", "hier"]], "Daten": [*above, *rows]}, first_column=1)


def test_a_workbook_is_the_same_dataset_as_the_file(client: httpx2.Client, messy: dict[str, Any]) -> None:
    body, params = sheet_of(messy_rows()), {"target": "Befund", "sheet": "Daten"}
    created = client.post("/v1/datasets", params=params, content=body, headers=EXCEL)
    assert (created.status_code, created.json()["id"]) == (200, messy["dataset"]["id"]), created.text
    reading = client.post("/v1/datasets", params={**params, "dry_run": "true"}, content=body, headers=EXCEL).json()
    assert (reading["media_type"], reading["n_rows"]) == (EXCEL["Content-Type"], N_ROWS)
    wrong = client.post("/v1/datasets?target=Befund&sheet=Tabelle1", content=body, headers=EXCEL)
    assert wrong.json()["errors"][0]["fix"] == "sheets: 'Notizen', 'Daten'"


def test_a_workbook_is_answered_in_csv(client: httpx2.Client, messy: dict[str, Any]) -> None:
    path = f"/v1/models/{messy['model_id']}/predict"
    expected = client.post(path, content=messy_csv(messy_rows()), headers=CSV)
    answer = client.post(f"{path}?sheet=Daten", content=sheet_of(messy_rows()), headers=EXCEL)
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.content == expected.content
    refused = client.post(path, content=b"{}", headers={"Accept": EXCEL["Content-Type"]} | CSV)
    assert refused.status_code == 406
